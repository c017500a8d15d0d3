"""An estimate keeps BLAS to one thread, gives the threads back, and leaves those of the payoffs alone."""

import threading

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_info

from accredit.core.threads import one_blas_thread, one_thread
from accredit.games import FunctionGame
from accredit.values.surrogate import Surrogate, estimator


def threads():
    return {pool.num_threads for pool in ThreadpoolController().select(user_api="blas").lib_controllers}


def set_threads(count):
    """From a thread that ends, so that it is not this one that owns the limit."""

    def set_all():
        for pool in ThreadpoolController().select(user_api="blas").lib_controllers:
            pool.set_num_threads(count)

    setting = threading.Thread(target=set_all)
    setting.start()
    setting.join()


@pytest.fixture
def two_threads():
    before = max(threads())
    set_threads(2)
    if threads() == {2}:
        yield
    else:
        pytest.skip("this BLAS cannot use two threads")
    set_threads(before)


def test_threads_are_given_back_also_after_an_error(two_threads):
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        assert threads() == {1}
        raise ZeroDivisionError
    assert threads() == {2}


def test_many_small_fits_keep_every_pool_to_one_thread_and_give_them_back(two_threads):
    with one_thread():
        assert {pool["num_threads"] for pool in threadpool_info()} == {1}
    assert threads() == {2}


def test_estimates_of_two_threads_take_turns_so_that_none_restores_the_limit_of_the_other(two_threads):
    seen, entered = [], threading.Event()

    def second():
        entered.set()
        with one_blas_thread():
            seen.append(threads())

    other = threading.Thread(target=second)
    with one_blas_thread():
        other.start()
        assert entered.wait(10)
        with one_blas_thread():  # the same thread may come again
            assert threads() == {1}
        assert not seen
    other.join(10)
    assert seen == [{1}]
    assert threads() == {2}


def test_the_arithmetic_has_one_thread_and_the_payoffs_have_theirs(two_threads, monkeypatch):
    seen = {"payoff": set(), "estimate": set()}

    def payoff(coalitions):
        seen["payoff"] |= threads()
        return np.sqrt(coalitions.sum(axis=1)) + coalitions[:, 0] * coalitions[:, 1]

    def watched(*arguments):
        seen["estimate"] |= threads()
        return estimate(*arguments)

    estimate = estimator.estimate
    monkeypatch.setattr(estimator, "estimate", watched)
    Surrogate(60).solve(FunctionGame([f"p{i}" for i in range(9)], payoff))
    assert seen == {"payoff": {2}, "estimate": {1}}


def test_a_seed_gives_the_same_digits_on_any_number_of_threads(two_threads):
    game = FunctionGame([f"p{i}" for i in range(12)], lambda s: np.tanh(s @ np.linspace(-1, 1, 12)) + s[:, 0] * s[:, 5])
    several = Surrogate(400).solve(game)
    set_threads(1)
    assert Surrogate(400).solve(game) == several


@pytest.mark.slow
def test_two_threads_at_once_get_the_numbers_of_one_alone(two_threads):
    def worth(coalitions):
        return np.tanh(coalitions @ np.linspace(-1, 2, 9)) + coalitions[:, 0] * coalitions[:, 5]

    def estimate(seed):
        return Surrogate(120, seed=seed).solve(FunctionGame("abcdefghi", worth))

    alone = [estimate(seed).to_json() for seed in (1, 2)]
    together = {}
    started = threading.Barrier(2)

    def run(seed):
        started.wait()
        together[seed] = [estimate(seed).to_json() for _ in range(2)]

    both = [threading.Thread(target=run, args=(seed,)) for seed in (1, 2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert together == {1: [alone[0]] * 2, 2: [alone[1]] * 2} and alone[0] != alone[1]
