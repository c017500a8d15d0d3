"""What can be typed to try each command, and what it answers; in the help, the manual and `accredit examples`."""

from __future__ import annotations

TRIALS = {  # what to type once the files lie in examples/ -> what it answers
    "accredit game examples/pricing.csv --html pricing.html": "what each of three data sets is worth to a buyer",
    "accredit game examples/cookies.csv --method banzhaf": "who earned the cookies, by another rule",
    "accredit game examples/effort.csv": "who earned what, level by level",
    "accredit game examples/words.csv": "what keeping, masking or replacing a word earns",
    "accredit flow examples/pipes.csv --from s --to t": "how much flows through a table of edges, and what limits it",
    'accredit explain "A superb, funny and moving film." --html film.html': "which words led to a prediction",
    "accredit explain examples/sentences.txt --out credit.jsonl": "the same for each line of a file",
    "accredit explain --answer": "which passage made a language model say this",
    "accredit explain --context examples/passages.json --query 'Where does Anna live ?' --generate": "your own passages",
    "accredit explain --table": "which columns led to the predictions for rows of a table",
    "accredit value examples/reviews.csv --target mood --text review": "which labels are wrong, what each row is worth",
    "accredit compare --limit 5 --methods leave-one-out,rollout": "which of two methods to trust here",
    "accredit audit 'I left with a smile.'": "whether attention explains an answer",
    "accredit serve": "all of it on a page of this machine",
}


def trials_of(path: str) -> dict[str, str]:
    """What can be tried of one command, as "accredit game", and what it answers."""
    return {command: answers for command, answers in TRIALS.items() if f"{command} ".startswith(f"{path} ")}
