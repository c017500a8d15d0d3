"""The page: a server for one person on one machine. Nothing outside this folder imports FastAPI or uvicorn."""
