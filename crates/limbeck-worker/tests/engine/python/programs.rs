//! Output, results and calls of Python programs.

use limbeck_domain::{ErrorKind, Language};

use super::value;
use crate::gateway::Run;

#[test]
fn a_python_worker_names_its_own_guest() {
    let outcome = Run::python("1 + 1").go();
    assert_eq!(outcome.value(), "2");
    let hash = limbeck_guests::guest_hash(Language::Python);
    assert_eq!(outcome.ready.guest_hash, hash);
    assert_eq!(hash.len(), 64);
    assert_ne!(hash, limbeck_guests::guest_hash(Language::Typescript));
}

#[test]
fn printed_lines_come_in_order_and_by_their_stream() {
    let outcome = Run::python(
        "import os, sys\n\
         print('one', 2)\n\
         print('three', end=' ')\n\
         print('four')\n\
         print('problem', file=sys.stderr)\n\
         os.write(1, b'raw\\n')\n\
         print('unfinished', end='')",
    )
    .go();
    assert_eq!(outcome.value(), "undefined");
    assert_eq!(outcome.stdout, "one 2\nthree four\nraw\nunfinished\n");
    assert_eq!(outcome.stderr, "problem\n");
}

#[test]
fn a_value_is_what_is_returned_or_else_the_last_expression() {
    assert_eq!(
        value("return {'a': [1, 2.5, None, True, 'ü']}"),
        r#"{"a":[1,2.5,null,true,"ü"]}"#
    );
    assert_eq!(value("x = 6\nx * 7"), "42");
    assert_eq!(value("input['n'] * 2"), "42");
    assert_eq!(value("x = 1"), "nothing");
}

#[test]
fn calls_reach_the_gateway_one_after_the_other_and_at_once() {
    let sequential =
        "total = 0\nfor i in range(20):\n    total += tools.test.echo(i=i)['i']\ntotal";
    let outcome = Run::python(sequential).go();
    assert_eq!(outcome.value(), "190");
    assert_eq!(tool_calls(&outcome), 20);

    let gathered = "import asyncio\n\
                    answers = await asyncio.gather(*[tools.test.echo(i=i) for i in range(20)])\n\
                    sum(a['i'] for a in answers)";
    let outcome = Run::python(gathered).go();
    assert_eq!(outcome.value(), "190");
    assert_eq!(tool_calls(&outcome), 20);
}

#[test]
fn tasks_that_run_at_the_return_are_run_to_their_end_before_the_value_is_written() {
    let program = "import asyncio\n\
                   seen = []\n\
                   async def twice(i):\n\
                   \x20   seen.append((await tools.test.echo(i=i))['i'])\n\
                   \x20   seen.append((await tools.test.echo(i=-i))['i'])\n\
                   for i in (1, 2):\n\
                   \x20   asyncio.create_task(twice(i))\n\
                   return {'seen': seen}";
    let outcome = Run::python(program).go();
    assert_eq!(tool_calls(&outcome), 4);
    assert_eq!(
        outcome.value().matches('-').count(),
        2,
        "{:?}",
        outcome.value()
    );
}

fn tool_calls(outcome: &crate::gateway::Outcome) -> usize {
    let tools = outcome.calls.iter();
    tools
        .filter(|call| call.op == limbeck_domain::HostOp::Tool)
        .count()
}

#[test]
fn a_failed_call_is_an_exception_that_can_be_caught() {
    let caught = "try:\n    tools.test.fail()\nexcept ToolError as e:\n    r = [e.code, e.server, e.tool]\nr";
    assert_eq!(value(caught), r#"["tool_failed","test","fail"]"#);
    let outcome = Run::python("x = 1\ntools.test.fail()").go();
    let fault = outcome.fault_of(ErrorKind::Exception);
    assert!(fault.message.contains("it failed as asked"), "{fault:?}");
    assert_eq!(fault.line, Some(2));
}

#[test]
fn exceptions_and_syntax_errors_say_where() {
    let outcome = Run::python("def f():\n    return 1 / 0\n\nf()").go();
    let fault = outcome.fault_of(ErrorKind::Exception);
    assert_eq!(fault.message, "ZeroDivisionError: division by zero");
    assert_eq!(fault.line, Some(2));
    assert!(outcome.stderr.contains("line 4"), "{}", outcome.stderr);

    let outcome = Run::python("x = 1\ny = = 2").go();
    let fault = outcome.fault_of(ErrorKind::Syntax);
    assert!(fault.message.starts_with("SyntaxError: "), "{fault:?}");
    assert_eq!(fault.line, Some(2));
    assert_eq!(tool_calls(&outcome), 0);
}

#[test]
fn a_value_without_a_json_form_is_refused_with_a_reason() {
    let outcome = Run::python("x = []\nx.append(x)\nreturn x").go();
    let fault = outcome.fault_of(ErrorKind::Exception);
    assert!(
        fault
            .message
            .starts_with("returned value has no JSON form: "),
        "{fault:?}"
    );
}

#[test]
fn the_standard_library_and_the_time_zones_are_there() {
    let modules = "import csv, dataclasses, decimal, difflib, email, enum, fractions, hashlib, heapq, html, ipaddress, \
                   json, logging, pathlib, re, statistics, string, tomllib, unicodedata, urllib.parse, uuid, xml.etree.ElementTree, \
                   zipfile\n\
                   hashlib.sha256(b'').hexdigest()[:8]";
    assert_eq!(value(modules), r#""e3b0c442""#);
    let zones = "import datetime, zoneinfo\n\
                 str(datetime.datetime(2024, 7, 1, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin')))";
    assert_eq!(value(zones), r#""2024-07-01 00:00:00+02:00""#);
    assert_eq!(
        value("import zoneinfo\nlen(zoneinfo.available_timezones()) > 400"),
        "true"
    );
    let absent = Run::python("import numpy").go();
    let fault = absent.fault_of(ErrorKind::Exception);
    assert!(fault.message.contains("numpy"), "{fault:?}");
}

#[test]
fn large_results_come_back_whole() {
    let mut run = Run::python("rows = tools.test.big()\n[len(rows), rows[-1]['name']]");
    let row = |i| format!(r#"{{"id":{i},"name":"row {i}"}}"#);
    run.big = format!("[{}]", (0..50_000).map(row).collect::<Vec<_>>().join(","));
    assert_eq!(run.go().value(), r#"[50000,"row 49999"]"#);
}
