from __future__ import annotations

from tests.report.made_up import made_up_case

from gtea.report.ego_network import EgoEdge, ego_network
from gtea.store.memory import store_in_memory


def test_all_that_passed_between_any_two_of_them() -> None:
    store = store_in_memory(
        ["me", "a", "me", "b", "a", "b"],
        ["a", "me", "b", "a", "x", "y"],
        [1, 2, 3, 4, 5, 6],
        features={"amount": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]},
    )
    network = ego_network(made_up_case(store))
    names = [node.account for node in network.nodes]
    assert names[0] == "me"
    assert sorted(names) == ["a", "b", "me"]
    assert network.nodes[0].effect is None
    passed = {(names[edge.src], names[edge.dst]): edge.amount for edge in network.edges}
    assert passed == {("me", "a"): 1.0, ("a", "me"): 2.0, ("me", "b"): 4.0, ("b", "a"): 8.0}


def test_without_amounts_edges_have_none() -> None:
    network = ego_network(made_up_case(store_in_memory(["me"], ["a"], [1], unit="step")))
    assert network.edges == (EgoEdge(0, 1, 1, None, "1", "1"),)
