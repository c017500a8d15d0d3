"""What can be typed to try each command, and what it answers; in the help, the manual and `accredit examples`."""

from __future__ import annotations

from accredit.views.terminal.screen import WIDTH

TRIALS = {  # what to type once the files lie in examples/ -> what it answers
    "accredit game examples/pricing.csv --html pricing.html": "what each of three data sets is worth to a buyer",
    "accredit game examples/cookies.csv --method banzhaf": "by another rule",
    "accredit game examples/effort.csv": "who earned what, level by level",
    "accredit game examples/words.csv": "what keeping or replacing words earns",
    "accredit flow examples/pipes.csv --from s --to t": "how much flows through a table of edges, and what limits it",
    'accredit explain "A superb, funny and moving film." --html film.html': "which words led to a prediction",
    "accredit explain examples/sentences.txt --out credit.jsonl": "for every line",
    "accredit explain --answer": "which passage made a language model say this",
    "accredit explain --context examples/passages.json --query 'Where does Anna live ?'": "your own passages",
    "accredit explain --table": "which columns led to predictions",
    "accredit value examples/reviews.csv --target mood --text review": "which labels are wrong, what each row is worth",
    "accredit compare --limit 5 --methods leave-one-out,rollout": "which to trust",
    "accredit audit 'I left with a smile.'": "whether attention explains an answer",
    "accredit serve": "all of it on a page of this machine",
}


def trials_of(path: str) -> dict[str, str]:
    """What can be tried of one command, as "accredit game", and what it answers."""
    return {command: answers for command, answers in TRIALS.items() if f"{command} ".startswith(f"{path} ")}


def lines_of(command: str, answers: str = "") -> list[str]:
    """A trial as lines of one screen that can be pasted: a long command goes on after a backslash, and what it answers stands
    behind it where there is room, else below.

    >>> print("\\n".join(lines_of("accredit explain --answer", "which passage")))
      accredit explain --answer  # which passage
    """
    lines = [""]
    for k, part in enumerate(command.split(" --")):
        option = f" --{part}" if k else f"  {part}"
        if len(lines[-1]) + len(option) + len(" \\") > WIDTH:
            lines[-1:] = [f"{lines[-1]} \\", f"     {option}"]
        else:
            lines[-1] += option
    if not answers:
        return lines
    behind = f"{lines[-1]}  # {answers}"
    return [*lines[:-1], behind] if len(behind) <= WIDTH else [*lines, f"      {answers}"]
