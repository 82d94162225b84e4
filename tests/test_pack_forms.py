"""What the packs for families of tools make of single calls: the effect that a command, a statement or a method has."""

from typing import Any

import pytest
import yaml

from callgate import Gate

PACKS = ("files", "http", "shell", "sql")


RULES = [
    {"id": name, "phase": "admit", "when": f'tool.effect == "{name}"', "action": "note", "message": '"noted"'}
    for name in ("read", "write", "external", "ui", "control", "unknown")
]
RULES.append(
    {"id": "tests", "phase": "admit", "when": '"tests" in tool.groups', "action": "note", "message": '"noted"'}
)


@pytest.fixture(scope="module")
def gates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Gate]:
    """Each pack, with rules that note the effect of a call, and whether it tests."""
    found = {}
    for name in PACKS:
        room = tmp_path_factory.mktemp(name)
        spec = {"extends": [name], "rules": RULES}
        document = {"apiVersion": "callgate/v1", "kind": "GuardPolicy", "metadata": {"name": "told"}, "spec": spec}
        (room / "policy.yaml").write_text(yaml.safe_dump(document), encoding="utf-8")
        found[name] = Gate.load(room)
    return found


def told(gate: Gate, tool: str, arguments: dict[str, Any]) -> list[str]:
    """What is noted of one call: its effect, and whether it tests. An expression that fails is noted too."""
    return [note.reason.removeprefix("rule:") for note in gate.task("t").admit(tool, arguments).notes]


LOOKS = [
    "ls",
    "ls -la src",
    "cat a.py",
    "cat 'a file.py' b.py",
    "cd src && ls",
    "cd src; cat a.py | head -n 20",
    'grep -rn "def f" src | grep -v test | wc -l',
    "grep 'a > b' a.py",
    'grep "rm -rf" Makefile',
    "grep -n 'x;y' a.py",
    "sed -n '1,20p' a.py",
    "sed -n 's/ -i / /p' a.py",
    "nl -ba a.py | sed -n '1,20p'",
    "find . -name '*.py' -type f",
    "find . -name '*.py' 2>/dev/null | head",
    "git status",
    "git diff HEAD~1 -- a.py",
    "git -C repo log --oneline",
    "cat a.py 2>&1 | less",
    "LC_ALL=C sort a.txt",
    "wc -l < a.txt",
    "ls\npwd\n",
    "test -f a && cat a || echo no",
    "head -c 100 a.bin | xxd",
    "rg foo -g '!*.md'",
    'grep "git bisect bad" notes',
    "grep -rn 'alembic upgrade head' docs | head",
    "echo git bisect bad",
    "git bisect log",
    "git submodule status",
    "git stash list",
    "git -C repo worktree list",
    "git log --grep 'git fetch; git checkout'",
    "cat git-fetch.txt; ls hg update",
]
WRITES = [
    "cat x > y",
    "echo hi >> log.txt",
    "sed -i s/a/b/ a.py",
    "sed -e s/a/b/ -i a.py",
    "sed --in-place s/a/b/ a.py",
    "cd src && sed -i s/a/b/ a.py",
    "sudo rm -rf build",
    "A=1 B=2 touch a",
    "ls | tee out.txt",
    "cat <<'EOF' > a.py\nx = 1\nEOF",
    "cat > a.py <<EOF\nx > 1\nEOF",
    "git add -A && git commit -m 'x'",
    "git -C repo checkout a.py",
    "cp a b",
    "mv a b; ls",
    "find . -name '*.pyc' | xargs rm -f",
    "pip install -e .",
    "npm ci",
    "apt-get -y install jq",
    "perl -pi -e s/a/b/ a.py",
    "if true; then rm a; fi",
    "(cd src; mkdir new)",
    "python gen.py > out.json",
    "echo 'a' 2>/dev/null > b",
    "timeout 5 rm a",
    "echo $(rm a)",
    "sed -n 's/a/b/p' -i a.py",
    "git bisect start HEAD v1.0",
    "git bisect good",
    "git bisect bad; pytest -q",
    "git bisect skip 2>&1 | tail -1",
    "git bisect run ./repro.sh",
    "git -C repo -c a.b=c bisect reset",
    "git --no-pager checkout main",
    "git submodule update --init --recursive",
    "git submodule --quiet sync",
    "git fetch",
    "git fetch origin && git log ..origin/main",
    "git clone http://host/a.git",
    "git init",
    "git worktree add ../a main",
    "git stash",
    "git stash pop",
    "git stash -u",
    "git stash&& git pull",
    "hg update -r 3",
    "hg bisect --bad",
    "svn update",
    "svn switch ^/branches/a",
    "jj new main",
    "jj op restore 3",
    "p4 sync",
    "repo sync -j4",
    "dvc checkout",
    "nvm use 20",
    "nvm use 18 && npm ci",
    "pyenv local 3.12",
    "rustup default nightly",
    "rustup override set 1.70",
    "module load gcc/13",
    "alembic upgrade head",
    "alembic -c a.ini downgrade -1",
    "python -m alembic upgrade head",
    "uv run flask db migrate",
    "bundle exec rails db:migrate",
    "python manage.py migrate",
    "npx prisma migrate deploy",
    "npx knex migrate:latest",
    "flyway migrate",
    "liquibase update",
    "sqlx migrate run",
    "kubectl config use-context prod",
    "terraform workspace select a",
    "poetry update",
    "uv sync",
    "cargo update -p a",
]
ANYTHING = [
    "python fix.py",
    "make",
    "./run.sh",
    "curl -s http://host",
    "cat $(find . -name a)",
    "cat `which a`",
    "bash -c 'rm a'",
    "find . -name a -delete",
    "find . -exec cat {} +",
    "sort a -o a",
    "tail -f log",
    "awk '{print > \"x\"}' a",
    "ps aux",
    "date",
    "docker ps",
    "ls & rm_all",
    "eval ls",
    "cat a | sh",
    "cat a | python -",
    'echo "$(rm a)"',
    "kill 1",
    "cat <(make)",
    "python -c 'print(1 > 0)'",
    'node -e "a => b"',
    "yq -i .a a.yaml",
    "env",
    "xargs cat < list",
    "git bisect",
    "git bisect visualize",
    "git branch",
    "git remote -v",
    "git submodule",
    "git push",
    "git fetchall",
    "hg log",
    "svn info",
    "jj log",
    "dvc status",
    "nvm ls",
    "alembic history",
    "rails db:version",
    "kubectl config get-contexts",
    "terraform workspace list",
    "python alembic.py",
]
TESTS = [
    "pytest",
    "pytest -q tests/test_a.py -k x",
    "python -m pytest tests",
    "python3.11 -m unittest",
    "cd src && pytest",
    "PYTHONPATH=. pytest",
    "npm test",
    "npm run test",
    "cargo test -p core",
    "go test ./...",
    "make test",
    "make check",
    "tox -e py",
    "timeout 60 pytest",
    "python manage.py test app",
    "./tests/runtests.py admin",
    "bin/test sympy/core",
]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        *((command, ["read"]) for command in LOOKS),
        *((command, ["write"]) for command in WRITES),
        *((command, ["unknown"]) for command in ANYTHING),
        *((command, ["unknown", "tests"]) for command in TESTS),
    ],
)
def test_a_command_is_told_by_its_text(command: str, expected: list[str], gates: dict[str, Gate]) -> None:
    assert told(gates["shell"], "bash", {"command": command}) == expected
    assert told(gates["shell"], "run_cmd", {"cmd": command}) == expected


WAITS = [
    "",
    "sleep 20",
    "sleep 5; tail -n 3 build.log",
    "sleep 5 && ls -la; cat 'a file' | head -3",
    "sleep 15; kubectl get pods",
    "sleep 15; kubectl -n prod describe pod web-1 2>&1 | tail -5",
    "sleep 1m\ncurl -sf http://localhost:8000/health",
    "sleep 10; curl -s -o /dev/null -w '%{http_code}' http://host",
    "sleep 10; docker logs --tail 5 web",
    "sleep 10; docker compose ps",
    "sleep 60; gh run view 12",
    "sleep 60; gh pr checks",
    "sleep 5; systemctl status web",
    "sleep 5; aws ecs describe-services --cluster a",
]
WORK_AFTER_A_SLEEP = [
    "sleep 5; rm a",
    "sleep 5; tail log > b",
    "sleep 5; ls $(make)",
    "sleep 5; kubectl delete pod web",
    "sleep 5; docker restart web",
    "sleep 5; gh run rerun 12",
    "sleep 5; curl -X POST http://host",
    "sleep 5; curl -s -d a=1 http://host",
    "sleep 5; find . -name a -delete",
    "sleep 5; python poll.py",
    "sleep 5; cat a\nrm a",
    "sleep 5; ls | xargs rm",
]


def repeated(gate: Gate, command: str) -> str:
    """What the verdict on the 4th equal call of a command is."""
    task = gate.task("t")
    for _ in range(3):
        verdict = task.admit("bash", {"command": command})
        task.observe(verdict.call_id, result="the same")
    return task.admit("bash", {"command": command}).action


@pytest.mark.parametrize("command", WAITS)
def test_a_wait_may_be_repeated(command: str, gates: dict[str, Gate]) -> None:
    assert repeated(gates["shell"], command) == "allow"


@pytest.mark.parametrize("command", WORK_AFTER_A_SLEEP)
def test_work_after_a_sleep_is_no_wait(command: str, gates: dict[str, Gate]) -> None:
    assert repeated(gates["shell"], command) == "refuse"


@pytest.mark.parametrize("arguments", [{}, {"command": None}, {"command": ["ls"]}, {"command": 3}, {"text": "ls"}])
def test_a_command_that_is_no_text_may_be_anything(arguments: dict[str, Any], gates: dict[str, Gate]) -> None:
    assert told(gates["shell"], "bash", arguments) == ["unknown"]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SELECT * FROM t", "read"),
        ("  -- which?\nselect a from t where b = 'delete from t;'", "read"),
        ("/* all */ (SELECT 1) UNION (SELECT 2)", "read"),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "read"),
        ("SHOW TABLES", "read"),
        ("explain select 1", "read"),
        ("PRAGMA table_info(t)", "read"),
        ("INSERT INTO t VALUES (1)", "write"),
        ("update t set a = 1", "write"),
        ("select 1; drop table t", "write"),
        ("-- tidy\nDELETE FROM t", "write"),
        ("with x as (delete from t returning *) select * from x", "write"),
        ("with x as (select 1) insert into t select * from x", "write"),
        ("EXPLAIN ANALYZE DELETE FROM t", "write"),
        ("create table t (a int)", "write"),
        ("select * from t for update", "unknown"),
        ("select a into outfile '/tmp/x' from t", "unknown"),
        (".tables", "unknown"),
        ("\\dt", "unknown"),
        ("Please give me the question again.", "read"),
        # what changes things without a word of `insert` in it
        ("REFRESH MATERIALIZED VIEW CONCURRENTLY v", "write"),
        ("ANALYZE t", "write"),
        ("COMMENT ON COLUMN t.a IS 'select'", "write"),
        ("LOCK TABLE t IN SHARE MODE", "write"),
        ("CHECKPOINT", "write"),
        ("CLUSTER t", "write"),
        ("KILL 17", "write"),
        ("FLUSH PRIVILEGES", "write"),
        ("SAVEPOINT a", "write"),
        ("RELEASE a", "write"),
        ("BEGIN;", "write"),
        ("COMMIT;", "write"),
        ("COMMIT", "write"),
        ("ROLLBACK-- all of it", "write"),
        ("use shop", "write"),
        ("RESET search_path", "write"),
        ("NOTIFY jobs", "write"),
        ("DISCARD ALL", "write"),
        ("PREPARE q AS SELECT 1", "write"),
        ("DEALLOCATE q", "write"),
        ("OPTIMIZE TABLE t FINAL", "write"),
        ("REPAIR TABLE t", "write"),
        ("INSTALL httpfs", "write"),
        ("EXPORT DATABASE 'd'", "write"),
        ("UNLOAD ('select 1') TO 's3://b'", "write"),
        ("MSCK REPAIR TABLE t", "write"),
        ("UNDROP TABLE t", "write"),
        ("RESTORE DATABASE d FROM DISK = 'd.bak'", "write"),
        ("SYSTEM FLUSH LOGS", "write"),
        ("PRAGMA foreign_keys = on", "write"),
        ("PRAGMA main.wal_checkpoint(full)", "write"),
        ("select 1; vacuum", "write"),
        ("EXPLAIN (ANALYZE, BUFFERS) DELETE FROM t", "write"),
        ("select '\\'; delete from t", "write"),
        ("MATCH (n:T) SET n.a = 1", "write"),
        # functions and columns of such names are none of it
        ("select replace(a, 'b', 'c') from t", "read"),
        ("select (load > 5), (start - stop), max(a) comment from t", "read"),
        ("select a from t where b = 'x; commit'", "read"),
        ("select `use`, (lock = 1) from t", "read"),
        ("SUMMARIZE t", "read"),
        ("FROM t SELECT a", "read"),
        ("LIST @stage", "read"),
        ("HELP 'contents'", "read"),
        ("EXISTS TABLE t", "read"),
        # both, or of a language that the pack does not know
        ("FROM t INSERT OVERWRITE TABLE u SELECT a", "unknown"),
        ("select a into #u from t", "unknown"),
        ("select a from t for share", "unknown"),
        ("FETCH NEXT FROM c", "unknown"),
        ("DECLARE @a int", "unknown"),
        ("CHECK TABLE t", "unknown"),
        ("rate(http_requests_total[5m])", "unknown"),
        ("node_load1", "unknown"),
        ("sum by (job) (up)", "unknown"),
        ("db.orders.countDocuments({state: 1})", "unknown"),
        ("index=main | head", "unknown"),
        ("MATCH (n) RETURN n", "unknown"),
        ("submit", "read"),
        ("### Human: 用中文回答", "read"),
    ],
)
def test_a_statement_is_told_by_its_words(statement: str, expected: str, gates: dict[str, Gate]) -> None:
    for argument in ("query", "sql", "command", "statement"):
        assert told(gates["sql"], "execute_sql", {argument: statement}) == [expected]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"url": "http://host"}, "read"),
        ({"url": "http://host", "method": "GET"}, "read"),
        ({"url": "http://host", "method": "head"}, "read"),
        ({"url": "http://host", "method": "POST"}, "external"),
        ({"url": "http://host", "method": "DELETE"}, "external"),
        ({"url": "http://host", "method": "REPORT"}, "external"),
    ],
)
def test_a_request_is_told_by_its_method(arguments: dict[str, Any], expected: str, gates: dict[str, Gate]) -> None:
    assert told(gates["http"], "http_request", arguments) == [expected]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"url": "http://host/orders"}, "external"),
        ({"url": "http://host/logs/_search", "json": {"query": {"match_all": {}}}}, "read"),
        ({"url": "http://host/logs/_search?size=5"}, "read"),
        ({"endpoint": "/logs/_count"}, "read"),
        ({"path": "_msearch"}, "external"),
        ({"url": "http://host/v1/search"}, "read"),
        # the next page of a scroll is another each time
        ({"url": "http://host/_search/scroll", "json": {"scroll_id": "a"}}, "unknown"),
        ({"url": "http://host/logs/_search?scroll=1m"}, "unknown"),
        ({"url": "http://host/api/v1/query_range"}, "unknown"),
        ({"url": "http://host/token", "data": "grant_type=client_credentials"}, "unknown"),
        ({"url": "http://host/oauth2/token?a=b"}, "unknown"),
        ({"url": "http://host/auth/refresh"}, "unknown"),
        ({"url": "http://host/oauth/introspect"}, "unknown"),
        # words of an address that ask for nothing
        ({"url": "http://host/searches"}, "external"),
        ({"url": "http://host/search/jobs"}, "external"),
        ({"url": "http://host/logs/_delete_by_query"}, "external"),
        ({"url": "http://host/orders?next=/search"}, "external"),
        ({"url": "http://host/tokens"}, "external"),
        ({"url": 5}, "external"),
        # GraphQL, by what it says
        ({"url": "http://host/graphql", "json": {"query": "{ cart { total } }"}}, "read"),
        ({"url": "http://host/graphql", "body": {"query": "query Q($id: ID!) { cart(id: $id) { total } }"}}, "read"),
        ({"url": "http://host/graphql", "data": '{"variables": {}, "query": "\\n query Q { a }"}'}, "read"),
        ({"url": "http://host/api/graphql.json", "body": "# all\nquery { a }"}, "read"),
        ({"url": "http://host/graphql", "json": {"query": "mutation { add(sku: 1) { ok } }"}}, "external"),
        ({"url": "http://host/graphql", "json": {"query": "query A { a } mutation B { b }"}}, "external"),
        ({"url": "http://host/graphql", "body": '{"query": "mutation { a }"}'}, "external"),
        ({"url": "http://host/graphql", "body": '{"query": "query A { a } \\u006dutation B { b }"}'}, "external"),
        ({"url": "http://host/graphql", "json": {"id": "a1b2", "variables": {"query": "x"}}}, "external"),
        ({"url": "http://host/graphql", "body": '{"id": "a1b2", "variables": {"query": "x"}}'}, "external"),
        ({"url": "http://host/graphql", "json": [{"query": "{ a }"}]}, "external"),
        ({"url": "http://host/graphql"}, "external"),
        ({"url": "http://host/orders", "json": {"query": "{ cart { total } }"}}, "external"),
    ],
)
def test_a_post_that_asks_is_told_by_its_address_and_what_it_says(
    arguments: dict[str, Any], expected: str, gates: dict[str, Gate]
) -> None:
    assert told(gates["http"], "http_post", arguments) == [expected]
    assert told(gates["http"], "http_request", {"method": "POST", **arguments}) == [expected]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"command": "view", "path": "a.py"}, "read"),
        ({"path": "a.py", "start": 1, "end": 9}, "read"),
        ({"command": None, "path": "a.py", "old_str": None}, "read"),
        ({"command": "str_replace", "path": "a.py", "old_str": "a", "new_str": "b"}, "write"),
        ({"command": "create", "path": "a.py", "file_text": ""}, "write"),
        ({"command": "undo_edit", "path": "a.py"}, "write"),
        ({"path": "a.py", "new_str": "b"}, "write"),
    ],
)
def test_an_editor_is_told_by_what_it_is_given(
    arguments: dict[str, Any], expected: str, gates: dict[str, Gate]
) -> None:
    assert told(gates["files"], "str_replace_editor", arguments) == [expected]
