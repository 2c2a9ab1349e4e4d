"""What host applications write into mcp.json, and what add_mcp takes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import pytest

from toolnexus_nb.openai.errors import ToolnexusError
from toolnexus_nb.tools.mcp_config import make_spec, read_config


def only(entry, **others):
    """The one spec of a configuration with one server, and the findings."""
    specs, findings = read_config({"mcpServers": {"s": entry}, **others})
    return specs[0], findings


@pytest.mark.parametrize("wrapper", ["mcpServers", "servers", "mcp", None])
def test_the_servers_are_found_where_applications_put_them(wrapper):
    servers = {"time": {"command": "mcp-server-time", "args": ["-v"]}}
    specs, findings = read_config({wrapper: servers} if wrapper else servers)
    assert [spec.name for spec in specs] == ["time"] and findings == []
    assert specs[0].command == ("mcp-server-time", "-v")


def test_mcp_servers_comes_first_and_siblings_are_no_servers():
    specs, _ = read_config({"servers": {"b": {"command": "b"}}, "mcpServers": {"a": {"command": "a"}}})
    assert [spec.name for spec in specs] == ["a"]
    siblings = {word: {"command": "x"} for word in ("builtins", "agents", "a2a", "mcpServer", "inputs")}
    specs, _ = read_config({"a": {"command": "a"}, **siblings})
    assert [spec.name for spec in specs] == ["a"]


@pytest.mark.parametrize(
    ("entry", "command"),
    [
        ({"command": "npx", "args": ["-y", "x"]}, ("npx", "-y", "x")),
        ({"command": ["npx", "-y", "x"]}, ("npx", "-y", "x")),
        ({"command": "npx -y x"}, ("npx", "-y", "x")),
        ({"type": "local", "command": ["x"], "url": "http://y/"}, ("x",)),
    ],
)
def test_commands_as_text_or_as_a_list(entry, command):
    assert only(entry)[0].command == command


@pytest.mark.parametrize(
    ("entry", "transport"),
    [
        ({"url": "https://x/mcp"}, "http"),
        ({"url": "https://x/sse", "type": "sse"}, "sse"),
        ({"url": "https://x/mcp", "type": "streamable-http"}, "http"),
        ({"serverUrl": "https://x/mcp"}, "http"),
        ({"type": "remote", "url": "https://x/mcp", "command": ["y"]}, "http"),
    ],
)
def test_addresses(entry, transport):
    spec, _ = only(entry)
    assert spec.url.startswith("https://x/") and spec.transport == transport and spec.command == ()


def test_variables_are_put_in_and_missing_ones_reported(monkeypatch):
    monkeypatch.setenv("V", "v")
    monkeypatch.delenv("UNSET", raising=False)
    spec, findings = only(
        {
            "url": "https://${V}.org/mcp",
            "headers": {
                "a": "Bearer ${V}",
                "b": "$V",
                "c": "${UNSET}z",
                "d": "${A-B}",
                "e": "${UNSET:-other}",
                "f": "${env:V}",
            },
        }
    )
    assert spec.url == "https://v.org/mcp"
    assert dict(spec.headers) == {"a": "Bearer v", "b": "$V", "c": "z", "d": "${A-B}", "e": "other", "f": "v"}
    assert spec.unset == ("UNSET",) and len(findings) == 1 and "UNSET" in findings[0] and "'s'" in findings[0]
    spec, _ = only({"command": "${V}", "args": ["${V}"], "env": {"K": "${V}"}, "cwd": "/${V}"})
    assert (spec.command, dict(spec.env), spec.cwd) == (("v", "v"), {"K": "v"}, "/v")


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"env": ["A=1"]}, "env must be an object"),
        ({"args": "--all"}, "args must be a list"),
        ({"command": 5}, "command must be text or a list"),
        ({"cwd": 5}, "cwd must be text"),
        ({"url": "http://x/", "headers": "a: b"}, "headers must be an object"),
        ({"include": "one"}, "include must be a list"),
    ],
)
def test_a_field_of_the_wrong_kind_is_told_and_stops_nobody(field, words):
    specs, findings = read_config({"bad": {"command": "x", **field}, "good": {"command": "y"}})
    assert [spec.name for spec in specs] == ["good"]
    assert len(findings) == 1 and "'bad'" in findings[0] and words in findings[0]


def test_true_and_null_in_an_environment_are_what_json_means():
    assert dict(only({"command": "x", "env": {"A": True, "B": None, "C": 1.5}})[0].env) == {"A": "true", "C": "1.5"}


def test_environment_is_another_word_for_env():
    assert dict(only({"command": "x", "environment": {"A": 1}})[0].env) == {"A": "1"}


@pytest.mark.parametrize(
    ("entry", "disabled"),
    [({"disabled": True}, True), ({"enabled": False}, True), ({"disabled": "true"}, False), ({"enabled": True}, False)],
)
def test_disabled(entry, disabled):
    assert only({"command": "x", **entry})[0].disabled is disabled


@pytest.mark.parametrize(("written", "seconds"), [(30000, 30), (1000, 1), (45, 45), (None, None)])
def test_timeouts_in_milliseconds_or_seconds(written, seconds):
    assert only({"command": "x", "timeout": written})[0].timeout == seconds


def test_filters_of_tools():
    assert only({"command": "x", "tools": {"a": True, "b": True}})[0].include == ("a", "b")
    assert only({"command": "x", "tools": {"a": False}})[0].exclude == ("a",)
    spec, findings = only({"command": "x", "tools": {"a": "yes"}})
    assert spec.include == () and "tools['a']" in findings[0]


def test_comments_and_trailing_commas(tmp_path):
    file = tmp_path / "mcp.json"
    file.write_text('{\n  // mine\n  "servers": {"a": {"command": "x", /* y */ "args": ["//no", "a,]",],},},\n}\n')
    specs, _ = read_config(file)
    assert specs[0].command == ("x", "//no", "a,]")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{nonsense", "line 1"),
        (b"[1]", "no JSON object"),
        (None, "cannot be read"),
        ("{}".encode("utf-16"), "UTF-8"),
        (b"[" * 100_000, "too deep"),
    ],
)
def test_a_file_that_is_no_configuration(tmp_path, content, words):
    file = tmp_path / "mcp.json"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ToolnexusError, match=words):
        read_config(file)


@pytest.mark.parametrize(
    "entry", ["x", {}, {"command": 3}, {"command": "x", "timeout": "long"}, {"type": "remote"}, {"url": "x"}]
)
def test_a_bad_entry_is_a_finding_and_the_others_stay(entry):
    specs, findings = read_config({"mcpServers": {"bad": entry, "good": {"command": "x"}}})
    assert [spec.name for spec in specs] == ["good"] and len(findings) == 1 and "'bad'" in findings[0]


def test_a_child_gets_little_and_what_is_configured(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    environment = make_spec("s", command=["x"], env={"MINE": "1"}).child_environment()
    assert environment["MINE"] == "1" and "PATH" in environment and "OPENAI_API_KEY" not in environment


def test_only_values_that_sound_secret_are_secrets():
    spec = make_spec("s", command=["x"], env={"API_TOKEN": "abc", "MEMORY_FILE_PATH": "/tmp/x"})
    assert spec.secrets == ("abc",)
    spec = make_spec("s", url="http://x/", headers={"Authorization": "Bearer abc", "X-Team": "blue"})
    assert spec.secrets == ("Bearer abc", "abc")


def test_a_command_may_be_written_as_in_a_shell():
    assert make_spec("s", command="python -m 'my server' --x=1").command == ("python", "-m", "my server", "--x=1")


def test_what_people_are_shown_holds_no_path_of_this_machine():
    shown = make_spec("s", command=[sys.executable, str(Path.home() / "server.py"), "--x"]).target
    assert shown == "python ~/server.py --x"
    assert make_spec("s", command=["x", "-c", "print('hi')", "a b"]).target == "x -c \"print('hi')\" 'a b'"
    assert make_spec("s", command=[str(Path(sys.executable).parent / "mcp-server-time")]).target == "mcp-server-time"


def test_servers_of_a_file_open_side_by_side_and_a_bad_one_stops_nobody(kit, raw, tmp_path):
    program, *rest = raw()
    file = tmp_path / "mcp.json"
    servers = {
        "mute": {"command": program, "args": [*rest, "--mute"], "timeout": 1.5},
        "one": {"command": program, "args": rest, "tools": {"echo": True, "nope": True}},
        "off": {"command": program, "args": rest, "disabled": True},
        "two": {"command": [program, *rest], "env": {"KEY": "v"}, "cwd": str(tmp_path), "tools": {"echo": False}},
        "none": {"command": "no-such-program-here"},
    }
    file.write_text(json.dumps({"mcpServers": servers}))
    started = time.monotonic()
    opened = kit.add_mcp_config_sync(file)
    assert time.monotonic() - started < 10
    states = {server.name: server.state for server in opened}
    assert states == {"mute": "failed", "one": "open", "off": "disabled", "two": "open", "none": "failed"}
    assert kit.names[0] == "one_echo" and kit.names[1] == "two_environment" and "two_echo" not in kit.names
    told = "\n".join(str(finding) for finding in kit.findings)
    assert "'mute' did not answer" in told and "'no-such-program-here' was not found" in told and "'nope'" in told
    assert json.loads(kit.execute_sync("two_environment").output)["KEY"] == "v"
    assert json.loads(kit.execute_sync("two_where").output)["cwd"] == str(tmp_path.resolve())
    assert kit.servers["two"].status().hidden == ("echo",)


def test_the_environment_of_a_child_is_small(kit, raw, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_KERNEL", "s")
    kit.add_mcp_sync("r", command=raw(), env={"MINE": "1"})
    environment = json.loads(kit.execute_sync("r_environment").output)
    assert environment["MINE"] == "1" and environment["PATH"] and "SECRET_OF_THE_KERNEL" not in environment


def test_names_that_collide_are_kept_apart(kit, raw):
    kit.add_mcp_sync("r", command=raw())
    assert "r_dotted_name" in kit.names and "r_dotted_name_2" in kit.names
    assert kit.execute_sync("r_dotted_name").output == "dotted.name"
    assert kit.execute_sync("r_dotted_name_2").output == "dotted_name"


def test_names_of_two_servers_that_would_be_the_same(kit, raw):
    kit.add_mcp_sync("a", command=raw(), include=["dotted_name"])
    kit.add_mcp_sync("a_dotted", command=raw(), include=[])
    assert kit.names[0] == "a_dotted_name"

    def a_dotted_echo_2() -> str:
        return ""

    assert len(set(kit.names)) == len(kit.names)


def test_approval_follows_the_servers_hint_and_the_users_word(kit, raw):
    kit.add_mcp_sync("r", command=raw())
    assert "destructive" in kit.get("r_wipe").approval_needed({})
    assert kit.get("r_look").approval_needed({}) is None and kit.get("r_echo").approval_needed({}) is None
    assert kit.get("r_wipe").annotations == {"destructiveHint": True, "readOnlyHint": False}
    kit.add_mcp_sync("r", command=raw(), needs_approval=False)
    assert kit.get("r_wipe").approval_needed({}) is None
    kit.add_mcp_sync("r", command=raw(), needs_approval=["echo"])
    assert kit.get("r_echo").approval_needed({}) and kit.get("r_wipe").approval_needed({}) is None
    kit.add_mcp_sync("r", command=raw(), needs_approval=lambda arguments: arguments.get("text") == "rm")
    assert (
        kit.get("r_echo").approval_needed({"text": "rm"}) and kit.get("r_echo").approval_needed({"text": "ls"}) is None
    )


def test_always_allow_of_a_file_spares_the_question(kit, raw):
    program, *rest = raw()
    kit.add_mcp_config_sync({"mcpServers": {"r": {"command": program, "args": rest, "alwaysAllow": ["wipe"]}}})
    assert kit.get("r_wipe").approval_needed({}) is None
