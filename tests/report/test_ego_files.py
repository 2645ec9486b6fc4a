from __future__ import annotations

import io
import json
from xml.etree import ElementTree

import networkx as nx
from tests.report.hostile_ids import HOSTILE
from tests.report.made_up import busy_store, made_up_case

from gtea.report.ego_files import ego_gexf, ego_graphml, ego_json, ego_table
from gtea.report.ego_network import ego_network
from gtea.report.shown import xml_text

NETWORK = ego_network(made_up_case(busy_store(names=HOSTILE)))


def test_graphml_is_what_other_programs_read() -> None:
    graph = nx.parse_graphml(ego_graphml(NETWORK))
    assert graph.number_of_nodes() == len(HOSTILE) + 1
    assert graph.number_of_edges() == len(NETWORK.edges)
    labels = {data["label"].strip() for _, data in graph.nodes(data=True)}
    # XML readers make one line break of CR LF.
    assert {xml_text(account).strip() for account in HOSTILE if "\r" not in account} <= labels
    effects = [data["effect"] for _, data in graph.nodes(data=True) if "effect" in data]
    assert len(effects) == len(HOSTILE)


def test_gexf_is_well_formed_and_complete() -> None:
    tree = ElementTree.fromstring(ego_gexf(NETWORK))
    space = {"g": "http://gexf.net/1.3"}
    assert len(tree.findall(".//g:node", space)) == len(HOSTILE) + 1
    assert len(tree.findall(".//g:edge", space)) == len(NETWORK.edges)
    graph = nx.read_gexf(io.BytesIO(ego_gexf(NETWORK).encode()), version="1.3")
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (len(HOSTILE) + 1, len(NETWORK.edges))
    assert {data["label"] for _, data in graph.nodes(data=True)} >= {"=1+1", "<script>window.pwned=1</script>"}


def test_json_and_table_have_exact_ids() -> None:
    content = json.loads(ego_json(NETWORK))
    assert [node["account"] for node in content["nodes"]] == ["me", *(node.account for node in NETWORK.nodes[1:])]
    table = ego_table(NETWORK)
    assert len(table) == len(NETWORK.edges)
    assert set(HOSTILE) <= set(table["src"].to_pylist() + table["dst"].to_pylist())
