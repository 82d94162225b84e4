"""The policy that is measured: `default` over the packs for families of tools, and which recorded tool is of which."""

import tempfile
from pathlib import Path
from typing import Any, Final

import yaml

from callgate import _core
from callgate.policy.open import open_policy

PACKS: Final = ("shell", "files", "sql", "http", "web-search", "browser", "tickets", "mail", "control")

# Names in the recordings that no pack has, by the tool that they are like. One table for all data sets: what stands
# here is what a name says in general (a `curl` is a program that is run), never what a data set does with it.
ALIKE: Final[dict[str, tuple[str, ...]]] = {
    "bash": ("ctf", "ComputerTerminal"),
    # programs that were recorded as tools of their own, each with its command line
    "run_program": (
        "RsaCtfTool.py", "cat", "connect_sendline", "connect_start", "curl", "decompile", "disassemble", "echo",
        "execute_python_file", "file", "ls", "pip", "python3", "pwd", "rm", "strings", "tshark", "unzip",
    ),
    "read_file": ("open",),
    "find_file": ("goto", "search_dir", "search_file", "scroll_down", "scroll_up", "set_cursors"),
    "edit_file": ("edit", "create"),
    "web_search": ("Search",),
    "find_in_page": ("Lookup",),
    "open_page": ("browse_website",),
    "computer": ("WebSurfer", "FileSurfer"),
    "finish": ("Finish", "goals_accomplished"),
    "ask_agent": ("Assistant",),
    "get_record": (
        "find_user_id_by_email", "find_user_id_by_name_zip", "get_order_details", "get_product_details",
        "get_reservation_details", "get_user_details",
    ),
    "search_records": ("list_all_airports", "list_all_product_types", "search_direct_flight", "search_onestop_flight"),
    "update_record": (
        "cancel_pending_order", "cancel_reservation", "modify_pending_order_address", "modify_pending_order_items",
        "modify_pending_order_payment", "modify_user_address", "update_reservation_baggages",
        "update_reservation_flights", "update_reservation_passengers",
    ),
    "create_record": ("book_reservation", "exchange_delivered_order_items", "return_delivered_order_items"),
    "issue_voucher": ("send_certificate",),
    "transfer_to_human": ("transfer_to_human_agents",),
}  # fmt: skip


def documents() -> list[dict[str, Any]]:
    """Write the measured policy and the manifest of the recorded names."""
    alike = {name: {"extends": like} for like, names in ALIKE.items() for name in names}
    head = {"apiVersion": "callgate/v1", "metadata": {"name": "recorded"}}
    return [
        {**head, "kind": "GuardPolicy", "spec": {"extends": ["default", *PACKS], "tools": [*PACKS, "recorded"]}},
        {**head, "kind": "ToolManifest", "spec": {"tools": alike}},
    ]


def compiled() -> _core.CompiledPolicy:
    """Compile the measured policy."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "policy.yaml").write_text(yaml.safe_dump_all(documents()), encoding="utf-8")
        opened = open_policy(folder)
    assert opened.compiled is not None, opened.diagnostics
    return opened.compiled
