import pytest

from accredit.views.language.palette import DARK_INK, LEVELS, LIGHT_INK, THEMES, contrast, level, level_rules, shade


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("signed", [True, False])
def test_text_is_readable_on_every_level(theme, signed):
    for value in range(-LEVELS, LEVELS + 1):
        background, white = shade(value, LEVELS, theme, signed)
        assert contrast(background, LIGHT_INK if white else DARK_INK) >= 4.5  # WCAG 2 AA for small text


# Linear-light matrices of Machado et al. (2009) for a person without one kind of cone.
BLIND = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


@pytest.mark.parametrize("kind", BLIND)
@pytest.mark.parametrize("theme", THEMES)
def test_signs_stay_apart_for_the_colour_blind(kind, theme):
    def seen(colour):
        linear = [(x / 255) ** 2.2 for x in colour]
        return [max(0.0, sum(m * c for m, c in zip(row, linear, strict=True))) ** (1 / 2.2) for row in BLIND[kind]]

    for share in (0.5, 0.75, 1.0):
        up, down = (seen(shade(sign * share, 1.0, theme)[0]) for sign in (1, -1))
        assert sum(abs(a - b) for a, b in zip(up, down, strict=True)) > 0.25


def test_levels_are_classes_of_the_style_sheet():
    rules = level_rules("light")
    for value in (-1, -0.3, 0.3, 1):
        for signed in (True, False):
            assert f".{level(value, 1.0, signed)}{{" in rules


def test_zero_has_no_colour_whatever_the_scale():
    assert level(0.0, 0.0) == level(0.0, 1.0) == "z"
