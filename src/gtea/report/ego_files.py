"""An ego network in the formats that other programs read: CSV, GraphML, GEXF and JSON.

Nodes are numbered in XML and named by a label, because not every id can be written there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from xml.sax.saxutils import escape, quoteattr

import pyarrow as pa

from gtea.report.ego_network import EgoEdge, EgoNetwork, EgoNode
from gtea.report.shown import xml_text

_NODE_FIELDS = (("known", "string"), ("effect", "double"), ("weight", "double"))
_EDGE_FIELDS = (("num_events", "long"), ("amount", "double"), ("first", "string"), ("last", "string"))


def ego_table(network: EgoNetwork) -> pa.Table:
    """The edges as a table for spreadsheets and programs."""
    names = [node.account for node in network.nodes]
    edges = network.edges
    return pa.table(
        {
            "src": pa.array([names[edge.src] for edge in edges], pa.string()),
            "dst": pa.array([names[edge.dst] for edge in edges], pa.string()),
            "num_events": pa.array([edge.num_events for edge in edges], pa.int64()),
            "amount": pa.array([edge.amount for edge in edges], pa.float64()),
            "first": pa.array([edge.first for edge in edges], pa.string()),
            "last": pa.array([edge.last for edge in edges], pa.string()),
        }
    )


def ego_json(network: EgoNetwork) -> str:
    """Nodes and edges, ids exactly as they are."""
    content = {"nodes": [asdict(node) for node in network.nodes], "edges": [asdict(edge) for edge in network.edges]}
    return json.dumps(content, indent=1) + "\n"


def ego_graphml(network: EgoNetwork) -> str:
    """GraphML, as Gephi, yEd, Cytoscape and NetworkX read it."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">']
    lines.append('<key id="label" for="node" attr.name="label" attr.type="string"/>')
    for kind, fields in (("node", _NODE_FIELDS), ("edge", _EDGE_FIELDS)):
        lines += [f'<key id="{name}" for="{kind}" attr.name="{name}" attr.type="{of}"/>' for name, of in fields]
    lines.append('<graph edgedefault="directed">')
    for number, node in enumerate(network.nodes):
        label = f'<data key="label">{escape(xml_text(node.account))}</data>'
        lines.append(f'<node id="n{number}">{label}{_graphml_data(node, _NODE_FIELDS)}</node>')
    for edge in network.edges:
        lines.append(f'<edge source="n{edge.src}" target="n{edge.dst}">{_graphml_data(edge, _EDGE_FIELDS)}</edge>')
    return "\n".join([*lines, "</graph>", "</graphml>", ""])


def ego_gexf(network: EgoNetwork) -> str:
    """GEXF 1.3, as Gephi reads it."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<gexf xmlns="http://gexf.net/1.3" version="1.3">']
    lines.append('<graph defaultedgetype="directed">')
    for kind, fields in (("node", _NODE_FIELDS), ("edge", _EDGE_FIELDS)):
        attributes = "".join(f'<attribute id="{name}" title="{name}" type="{of}"/>' for name, of in fields)
        lines.append(f'<attributes class="{kind}">{attributes}</attributes>')
    lines.append("<nodes>")
    for number, node in enumerate(network.nodes):
        label = quoteattr(xml_text(node.account))
        lines.append(f'<node id="n{number}" label={label}>{_gexf_data(node, _NODE_FIELDS)}</node>')
    lines += ["</nodes>", "<edges>"]
    for number, edge in enumerate(network.edges):
        ends = f'id="e{number}" source="n{edge.src}" target="n{edge.dst}"'
        lines.append(f"<edge {ends}>{_gexf_data(edge, _EDGE_FIELDS)}</edge>")
    return "\n".join([*lines, "</edges>", "</graph>", "</gexf>", ""])


def _graphml_data(item: EgoNode | EgoEdge, fields: Sequence[tuple[str, str]]) -> str:
    return "".join(f'<data key="{name}">{escape(text)}</data>' for name, text in _given(item, fields))


def _gexf_data(item: EgoNode | EgoEdge, fields: Sequence[tuple[str, str]]) -> str:
    values = "".join(f'<attvalue for="{name}" value={quoteattr(text)}/>' for name, text in _given(item, fields))
    return f"<attvalues>{values}</attvalues>" if values else ""


def _given(item: EgoNode | EgoEdge, fields: Sequence[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    for name, _ in fields:
        value = getattr(item, name)
        if value is not None:
            yield name, xml_text(str(value))
