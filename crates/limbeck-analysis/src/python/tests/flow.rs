//! Repetition of a call, whether its error is caught, and use of its result.

use super::*;

#[test]
fn a_call_whose_refusal_may_be_caught_is_marked() {
    for (program, guarded) in [
        (
            "try:\n    tools.shop.nope()\nexcept ToolError:\n    x = 1\nx",
            true,
        ),
        (
            "try:\n    tools.shop.nope()\nexcept (KeyError, Exception) as e:\n    x = 1\nx",
            true,
        ),
        ("try:\n    tools.shop.nope()\nexcept:\n    x = 1\nx", true),
        (
            "try:\n    tools.shop.nope()\nexcept* ToolError:\n    x = 1\nx",
            true,
        ),
        (
            "import contextlib\nwith contextlib.suppress(ToolError):\n    tools.shop.nope()\n1",
            true,
        ),
        (
            "import asyncio\nawait asyncio.gather(tools.shop.nope(), return_exceptions=True)\n1",
            true,
        ),
        (
            "def f():\n    tools.shop.nope()\ntry:\n    f()\nexcept ToolError:\n    pass\n1",
            true,
        ),
        (
            "def attempt(f):\n    try:\n        f()\n    except ToolError:\n        pass\nattempt(lambda: tools.shop.nope())\n1",
            true,
        ),
        (
            "def f():\n    tools.shop.nope()\ntry:\n    x = 1\nexcept ToolError:\n    pass\nf()",
            false,
        ),
        (
            "try:\n    x = 1\n    tools.shop.nope()\nexcept KeyError:\n    pass",
            false,
        ),
        (
            "try:\n    x = 1\nexcept ToolError:\n    tools.shop.nope()",
            false,
        ),
        (
            "import asyncio\nawait asyncio.gather(tools.shop.nope(), return_exceptions=False)\n1",
            false,
        ),
        ("with open('/tmp/x') as f:\n    tools.shop.nope()", false),
    ] {
        assert_eq!(site(program).guarded, guarded, "{program}");
    }
}

#[test]
fn how_often_a_call_is_made_is_what_its_loops_say() {
    for (program, repeat) in [
        ("tools.shop.echo(a=1)", Repeat::Once),
        (
            "for x in [1, 2]:\n    tools.shop.echo(a=x)",
            Repeat::AtMost(2),
        ),
        (
            "for i in range(3):\n    for x in (1, 2):\n        tools.shop.echo(a=x)",
            Repeat::AtMost(6),
        ),
        (
            "for i in range(1, 10, 4):\n    tools.shop.echo(a=i)",
            Repeat::AtMost(3),
        ),
        (
            "for i in range(9, 1):\n    tools.shop.echo(a=i)",
            Repeat::AtMost(0),
        ),
        (
            "for i in range(1, 9, 0):\n    tools.shop.echo(a=i)",
            Repeat::Many,
        ),
        (
            "for i, x in enumerate([1, 2]):\n    tools.shop.echo(a=x)",
            Repeat::AtMost(2),
        ),
        (
            "xs = [1]\nfor x in xs:\n    tools.shop.echo(a=x)",
            Repeat::Many,
        ),
        (
            "for x in [1]:\n    pass\nelse:\n    tools.shop.echo(a=x)",
            Repeat::Once,
        ),
        ("[tools.shop.echo(a=x) for x in 'ab']", Repeat::Many),
        (
            "[x for x in tools.shop.echo(a=[1]) for y in 'ab']",
            Repeat::Once,
        ),
        ("for x in tools.shop.echo(a=[1]):\n    pass", Repeat::Once),
        (
            "while True:\n    tools.shop.echo(a=1)\n    break",
            Repeat::Endless,
        ),
        (
            "import itertools\nfor i in itertools.count():\n    tools.shop.echo(a=i)\n    break",
            Repeat::Endless,
        ),
        (
            "def f():\n    tools.shop.echo(a=1)\nf()\nf()",
            Repeat::AtMost(2),
        ),
        ("def main():\n    tools.shop.echo(a=1)", Repeat::Once),
        (
            "def f(n):\n    tools.shop.echo(a=1)\n    if n: f(n - 1)\nf(1)",
            Repeat::Many,
        ),
    ] {
        assert_eq!(site(program).repeat, repeat, "{program}");
    }
}

#[test]
fn reads_of_a_result_are_followed_in_a_straight_line() {
    for (program, reads) in [
        (
            "o = tools.shop.echo(a={'b': 1})\no['a']['b']",
            &["a", "a.b"][..],
        ),
        (
            "o = await tools.shop.echo(a={'b': 1})\no.a.b",
            &["a", "a.b"],
        ),
        (
            "(o := tools.shop.echo(a={'b': 1}))\nawait x\no.a.b",
            &["a", "a.b"],
        ),
        (
            "for x in tools.shop.echo(a=[{'b': 1}])['a']:\n    x['b']",
            &["a", "a.[].b"],
        ),
        (
            "[x.b for x in tools.shop.echo(a=[{'b': 1}]).a]",
            &["a", "a.[].b"],
        ),
        ("o = tools.shop.echo(a=1)\no.get('a'); o.keys()", &["a?"]),
        ("o = tools.shop.echo(a=1)\no = {'a': 2}\no['a']", &[]),
        ("o = tools.shop.echo(a=1)\no['c'] = 2\no['c']", &["c?"]),
        (
            "o = tools.shop.echo(a=1)\ntry:\n    o['c']\nexcept KeyError:\n    pass",
            &["c?"],
        ),
        ("o = tools.shop.echo.raw(a=1)\no['content']", &[]),
        ("s = tools.shop\no = s.echo(a={'b': 1})\no.a", &["a"]),
        (
            "out = []\nn = {}\nn['x'] = 1\no = tools.shop.echo(a=1)\nout.append(o['a'])",
            &["a"],
        ),
        (
            "def f(out):\n    out.append(1)\nout = []\nf(out)\no = tools.shop.echo(a=1)\no['a']",
            &["a?"],
        ),
        (
            "n = {'r': {}}\nn['r']['x'] = 1\no = tools.shop.echo(a=1)\no['a']",
            &["a?"],
        ),
        (
            "import asyncio\nb, o = await asyncio.gather(asyncio.sleep(0), tools.shop.echo(a=1))\nprint(b, o['a'])",
            &["a"],
        ),
        (
            "os = [tools.shop.echo(a=x) for x in xs]\nfor o in os:\n    o['a'][0].b",
            &["a", "a.[].b"],
        ),
        (
            "os = [(await tools.shop.echo(a=x)) for x in xs]\nos[0].a\nos[-1].a\nos.b",
            &["a"],
        ),
        (
            "os = [tools.shop.echo(a=x)['a'] for x in xs]\nfor o in os:\n    o['b']",
            &["a", "a.b"],
        ),
        (
            "import asyncio\nos = await asyncio.gather(*[tools.shop.echo(a=x) for x in xs])\n[o['a'] for o in os]",
            &["a"],
        ),
        (
            "import asyncio\nts = [tools.shop.echo(a=x) for x in xs]\nos = await asyncio.gather(*ts)\nos[1]['a']",
            &["a"],
        ),
        (
            "import asyncio\nos = await asyncio.gather(*[tools.shop.echo(a=x) for x in xs], f())\nos[1]['a']",
            &[],
        ),
        (
            "import asyncio\nb, o = await asyncio.gather(*[], asyncio.sleep(0), tools.shop.echo(a=1))\nprint(o['a'])",
            &[],
        ),
    ] {
        let found = site(program).reads.into_iter();
        let found = found.map(|read| read.path.join(".") + if read.optional { "?" } else { "" });
        assert_eq!(found.collect::<Vec<_>>(), reads, "{program}");
    }
    let read = &site("o = tools.shop.echo(a=1)\nx = ('é', o['a'].b)").reads;
    let places = read.iter().map(|read| (read.line, read.column));
    assert_eq!(places.collect::<Vec<_>>(), [(2, 13), (2, 18)]);
}

#[test]
fn reads_of_a_result_are_followed_through_functions_and_collections() {
    for (rest, reads) in [
        ("o.get('a', 0)", &["a?"][..]),
        ("o.get('a', {}).get('b')", &["a?", "a.b?"]),
        ("for x in o['l']:\n    x.get('b')", &["l", "l.[].b?"]),
        // The same name in two loops.
        (
            "for x in o['l']:\n    x['b']\nfor x in q:\n    x['c']",
            &["l", "l.[].b"],
        ),
        (
            "[x['b'] for x in o['l']]; [x['c'] for x in q]",
            &["l", "l.[].b"],
        ),
        ("[x['b'] for x in [x for x in o['l']]]; x", &["l"]),
        ("sum(x['b'] for x in o)", &["[].b"]),
        (
            "next((x for x in o if x['b']), None)['c']",
            &["[].c?", "[].b"],
        ),
        ("sorted(o, key=lambda x: x['b'])[0]['c']", &["[].b", "[].c"]),
        ("max(o, key=lambda x: x['b']).c", &["[].b", "[].c"]),
        ("list(map(lambda x: x['b'], o))", &["[].b"]),
        ("for k, v in o.items():\n    v['b']", &["*.b"]),
        ("{k: v.b for k, v in o.items()}", &["*.b"]),
        ("for i, x in enumerate(o):\n    x['b']", &["*.b"]),
        ("[v['b'] for v in o.values()]", &["*.b"]),
        ("a, b = o['l']\na['c']", &["l", "l.[].c"]),
        ("def name(x):\n    return x['b']\nname(o)", &["b"]),
        ("name = lambda x: x['b']\n[name(x) for x in o]", &["[].b"]),
        ("def name(x):\n    return x['b']\nname(o)\nname(q)", &["b?"]),
        ("def name(x, y=1):\n    return y['b']\nname(q, o)", &[]),
        ("sorted = g\nsorted(o)[0]['b']", &[]),
        ("(o or {})['b']", &["b?"]),
        ("if 'b' in o:\n    o['b']", &["b?", "b?"]),
        ("if o.get('b'):\n    o['b']['c']", &["b?", "b?", "b.c?"]),
    ] {
        let program = format!("o = tools.shop.echo(a=1)\n{rest}");
        let found = site(&program).reads.into_iter();
        let found = found.map(|read| read.path.join(".") + if read.optional { "?" } else { "" });
        assert_eq!(found.collect::<Vec<_>>(), reads, "{program}");
    }
}

/// The reads of the result of `echo`; `?` marks those that are never errors.
fn reads_of(program: &str) -> Vec<String> {
    let sites = read(program).sites;
    let echo = sites.iter().find(|site| site.tool == "echo").unwrap();
    let reads = echo.reads.iter();
    reads
        .map(|read| read.path.join(".") + if read.optional { "?" } else { "" })
        .collect()
}

#[test]
fn members_that_the_program_itself_gives_to_a_result_are_no_errors() {
    for (rest, reads) in [
        ("o.append({'b': 1})\n[x['b'] for x in o]", &["[].b?"][..]),
        (
            "l = [x for x in o]\nl.append({'b': 1})\n[x['b'] for x in l]",
            &["[].b?"],
        ),
        (
            "l = list(o)\nl.append({'b': 1})\n[x['b'] for x in l]",
            &["[].b?"],
        ),
        ("l = o\nl += [{'b': 1}]\n[x['b'] for x in o]", &["[].b?"]),
        (
            "e = [{'b': 1}]\nl = o\nl += e\n[x['b'] for x in o]",
            &["[].b?"],
        ),
        ("l = o\nl |= {'b': 1}\no['b']", &["b?"]),
        (
            "def f(l):\n    l += [{'b': 1}]\nf(o)\no[0]['b']",
            &["[].b?"],
        ),
        ("o[1:] = [{'b': 1}]\no[1]['b']", &["[].b?"]),
        ("o.setdefault('b', 1)\no['b']", &["b?"]),
        ("dict.update(o, {'b': 1})\no['b']", &["b?"]),
        (
            "import heapq\nheapq.heappush(o, {'b': 1})\no[0]['b']",
            &["[].b?"],
        ),
        // The controls: collections of the program itself, and sums.
        ("out = []\nout += [1]\no['b']", &["b"]),
        ("out = []\nout += [x for x in o]\no['b']", &["b"]),
        ("n = list()\nn.append(o['b'])", &["b"]),
        ("n = 0\nfor x in o:\n    n += x['b']", &["[].b"]),
        (
            "l = [{'b': x['b']} for x in o]\nl.append({'b': 1})",
            &["[].b"],
        ),
    ] {
        let program = format!("o = tools.shop.echo(a=1)\n{rest}");
        assert_eq!(reads_of(&program), reads, "{program}");
    }
    // A tool with the name of what makes collections.
    let program = "o = tools.shop.list(a=1)\no.append({'b': 1})\no[0]['b']";
    let reads = site(program).reads;
    assert!(!reads.is_empty() && reads.iter().all(|read| read.optional));
}

#[test]
fn what_the_program_asks_of_a_result_is_no_error_where_it_reads_it() {
    for (rest, reads) in [
        ("if hasattr(o, 'b'):\n    o.b", &["b?", "b?"][..]),
        ("getattr(o, 'b', None)", &["b?"]),
        ("getattr(o, 'b', {})['c']", &["b?", "b.c?"]),
        (
            "import contextlib\nwith contextlib.suppress(KeyError):\n    o['b']",
            &["b?"],
        ),
        (
            "from contextlib import suppress\nwith suppress(KeyError):\n    o['b']['c']",
            &["b?", "b.c?"],
        ),
        ("o['b'] if 'b' in o else o['c']", &["b?", "b?", "c?"]),
        (
            "if 'b' in o:\n    o['b']\nelse:\n    o['c']",
            &["b?", "b?", "c?"],
        ),
        (
            "if 'b' in o:\n    x = 1\nelif o['c']:\n    o['d']",
            &["b?", "c?", "d?"],
        ),
        ("if 'b' in o.keys():\n    o['b']", &["b?"]),
        ("l = o if isinstance(o, list) else o['l']\nl", &["l?"]),
        ("max(o, key=len, default={'b': 1})['b']", &["[].b?"]),
        // The controls: what raises when it is not there, other contexts, and other tests.
        ("getattr(o, 'b')", &["b"]),
        ("with open('f') as f:\n    o['b']", &["b"]),
        ("1 if ok else o['b']", &["b"]),
        ("if ok:\n    x = 1\nelse:\n    o['b']", &["b"]),
        ("if 'b' in o:\n    o['c']", &["b?", "c"]),
    ] {
        let program = format!("o = tools.shop.echo(a=1)\n{rest}");
        let mut found = reads_of(&program);
        found.sort();
        let mut reads = reads.to_vec();
        reads.sort_unstable();
        assert_eq!(found, reads, "{program}");
    }
}

#[test]
fn values_of_other_shapes_are_not_taken_for_results() {
    for (program, reads) in [
        // Functions with other values.
        (
            "o = tools.shop.echo(a=1)\ndef f(x):\n    return x['b']\nf(o)\nf(tools.shop.list_orders())",
            &["b?"][..],
        ),
        (
            "o = tools.shop.echo(a=1)\ndef f(x={'b': 1}):\n    return x['b']\nf(o)",
            &[],
        ),
        (
            "o = tools.shop.echo(a=1)\n(lambda o: o['b'])({'b': 1})",
            &[],
        ),
        // A name that gets another value.
        (
            "if ok:\n    o = tools.shop.echo(a=1)\nelse:\n    o = {'b': 1}\no['b']",
            &[],
        ),
        (
            "try:\n    o = tools.shop.echo(a=1)\nexcept Exception:\n    o = {'b': 1}\no['b']",
            &[],
        ),
        ("o = tools.shop.echo(a=1) or {'b': 1}\no['b']", &["b?"]),
        (
            "o = tools.shop.echo(a=1)\nfor o in [{'b': 1}]:\n    o['b']",
            &[],
        ),
        (
            "o = tools.shop.echo(a=1)\n[o['b'] for o in [{'b': 1}]]",
            &[],
        ),
        // Objects and lists that are made of it.
        ("o = tools.shop.echo(a=1)\nn = {**o, 'b': 1}\nn['b']", &[]),
        ("o = tools.shop.echo(a=1)\nn = o | {'b': 1}\nn['b']", &[]),
        ("o = tools.shop.echo(a=1)\nn = dict(o, b=1)\nn['b']", &[]),
        (
            "o = tools.shop.echo(a=1)\nn = o.copy()\nn['b'] = 1\nn['b']",
            &["b?"],
        ),
        (
            "o = tools.shop.echo(a=1)\nn = [*o, {'b': 1}]\nn[0]['b']",
            &[],
        ),
        (
            "o = tools.shop.echo(a=1)\nn = o + [{'b': 1}]\nn[0]['b']",
            &[],
        ),
        (
            "o = tools.shop.echo(a=1)\nn = [{**x, 'b': 1} for x in o]\nn[0]['b']",
            &[],
        ),
        (
            "o = tools.shop.echo(a=1)\nn = {x['id']: x for x in o}\nn['k'] = {'b': 1}\nn['k']['b']",
            &["[].id"],
        ),
        (
            "o = tools.shop.echo(a=1)\nfrom itertools import chain\nfor x in chain(o, [{'b': 1}]):\n    x['b']",
            &[],
        ),
        // The control.
        (
            "o = tools.shop.echo(a=1)\nn = sorted(o, key=len)\nn[0]['b']",
            &["[].b"],
        ),
    ] {
        assert_eq!(reads_of(program), reads, "{program}");
    }
}

#[test]
fn reads_that_are_asked_for_made_or_one_of_several_are_marked() {
    for (rest, reads) in [
        ("'x' in o['a']", &["a", "a.x?"][..]),
        (
            "if o.get('a'):\n    raise ValueError(o['b'])",
            &["a?", "b?"],
        ),
        // What is not there ends it.
        ("if not o.get('a'):\n    raise ValueError(1)", &["a"]),
        ("if o.get('a'):\n    f(1)", &["a"]),
        ("o['a'] = 1\nprint(o['a'], o['b'])", &["a?", "b"]),
        (
            "for x in o:\n    x['sum'] = x['cents'] / 100\nf(o[0]['sum'])",
            &["[].sum?", "[].cents"],
        ),
        (
            "o.update({'a': 1}, b=2)\nf(o['a'], o['b'], o['c'])",
            &["a?", "b?", "c"],
        ),
        ("o.setdefault('a', [])\nf(o['a'])", &["a?"]),
        // The program's own object.
        ("out = {}\nout['a'] = o['a']", &["a"]),
        (
            "f(o.get('a') or o.get('b', {}).get('c') or [])",
            &["a|", "b|", "b.c|"],
        ),
        ("f(o.get('a') or o)", &["a?|"]),
        // In another branch the whole is taken as it is.
        ("f(o['a'] if isinstance(o, dict) else o)", &["a?"]),
        ("f(o['a'] if isinstance(o, dict) else str(o))", &["a?"]),
        ("f(o['a'] if isinstance(o, dict) else '')", &["a"]),
    ] {
        let program = format!("o = tools.shop.echo(a=1)\n{rest}");
        let found = site(&program).reads.into_iter().map(|read| {
            let asked = if read.asked { "?" } else { "" };
            let either = if read.either > 0 { "|" } else { "" };
            format!("{}{asked}{either}", read.path.join("."))
        });
        let (mut found, mut reads) = (found.collect::<Vec<_>>(), reads.to_vec());
        found.sort();
        reads.sort_unstable();
        assert_eq!(found, reads, "{program}");
    }
}

#[test]
fn the_reads_of_helpers_that_call_each_other_are_bounded() {
    let program = "def f(o):\n    return g(o['x'])\ndef g(o):\n    return f(o['y'])\nr = tools.shop.echo(a=1)\nf(r)";
    assert!(site(program).reads.len() <= 8);
}

#[test]
fn a_result_goes_with_its_names_into_arguments() {
    for (program, uses) in [
        (
            "o = tools.shop.get_order(id=1)\ntools.shop.echo(a=o.id)",
            &[0][..],
        ),
        ("tools.shop.echo(a=tools.shop.get_order(id=1))", &[1]),
        (
            "out = []\nfor o in tools.shop.list_orders():\n    out.append(o['id'])\ntools.shop.echo(a=out)",
            &[0],
        ),
        (
            "def get():\n    return tools.shop.get_order(id=1)\ntools.shop.echo(a=get())",
            &[0],
        ),
        (
            "def put(x):\n    tools.shop.echo(a=x)\nput(tools.shop.get_order(id=1))",
            &[1],
        ),
        (
            "if tools.shop.get_order(id=1):\n    tools.shop.echo(a=1)",
            &[],
        ),
        (
            "tools.shop.echo(a=1 if tools.shop.get_order(id=1) else 2)",
            &[],
        ),
        (
            "tools.shop.echo(a=tools.shop.get_order(id=1) if x else 2)",
            &[1],
        ),
    ] {
        let sites = read(program).sites;
        let echo = sites.iter().find(|site| site.tool == "echo").unwrap();
        assert_eq!(echo.uses, uses, "{program}");
    }
}

#[test]
fn reads_are_followed_into_what_the_program_parses() {
    for (rest, reads) in [
        (
            "json.loads(o)['tickets'][0]['id']",
            &["().tickets", "().tickets.[].id"][..],
        ),
        (
            "d = json.loads(o['content'])\nd.get('total')",
            &["content", "content.().total?"],
        ),
        (
            "d = json.loads(o) if isinstance(o, str) else o\nd['items']",
            &["().items?", "items?"],
        ),
        ("json.loads(json.dumps(o))['items']", &["items"]),
        // The controls: a text of it, and a function of the program.
        ("json.dumps(o)['items']", &[]),
        ("json = f\njson.loads(o)['items']", &[]),
    ] {
        let mut found = reads_of(&format!("import json\no = tools.shop.echo(a=1)\n{rest}"));
        found.sort();
        let mut reads = reads.to_vec();
        reads.sort_unstable();
        assert_eq!(found, reads, "{rest}");
    }
    let marks = |rest: &str| {
        let site = site(&format!("o = tools.shop.echo(a=1)\n{rest}"));
        site.reads.iter().any(|read| read.form_asked)
    };
    assert!(marks("if isinstance(o, dict):\n    f(o['a'])"));
    assert!(!marks("if o['b']:\n    f(o['a'])"));
}
