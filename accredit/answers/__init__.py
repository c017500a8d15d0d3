"""What a language model says, and which part of the prompt earned it: prompts, the answering model, its passes, the game."""

from typing import TYPE_CHECKING

from accredit.checks.lazy import lazy

if TYPE_CHECKING:
    from accredit.answers.black_box import asked_game
    from accredit.answers.game import AnswerGame, answer_game
    from accredit.answers.hosted_model import HostedModel
    from accredit.answers.model import AnsweringModel, as_answering_model
    from accredit.answers.server import ServerError

_HOME = {
    "AnswerGame": "game",
    "AnsweringModel": "model",
    "HostedModel": "hosted_model",
    "ServerError": "server",
    "answer_game": "game",
    "as_answering_model": "model",
    "asked_game": "black_box",
}

__all__ = ["AnswerGame", "AnsweringModel", "HostedModel", "ServerError", "answer_game", "as_answering_model", "asked_game"]

__getattr__ = lazy(__name__, {name: f"{__name__}.{home}" for name, home in _HOME.items()}, extra="text")
