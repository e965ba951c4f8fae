//! What a program loses in texts and in JSON without an error is a warning, and answers that are taken for texts have one.

use crate::gateway::Run;

/// Value and warnings of a program that completes.
#[track_caller]
fn completed(program: &str) -> (String, Vec<String>) {
    let outcome = Run::new(program).go();
    let value = outcome.value().to_owned();
    (value, outcome.done.unwrap().warnings)
}

#[track_caller]
fn warned(program: &str, value: &str, warning: &str) {
    let (returned, warnings) = completed(program);
    assert_eq!(returned, value, "{program}");
    assert!(
        warnings.iter().any(|text| text.contains(warning)),
        "{program}: {warnings:?}"
    );
}

#[test]
fn an_answer_that_is_taken_for_a_text_gives_its_text_with_a_warning() {
    let read = "const r = await tools.test.echo({ content: '{\"version\": 3}', at: 1 });";
    warned(
        &format!("{read} return `${{r}}`.includes('version')"),
        "true",
        "the result of `tools.test.echo` is an object and was put into a text, as its `content`",
    );
    warned(
        &format!("{read} return JSON.parse(r).version"),
        "3",
        "its `content` was parsed",
    );
    warned(
        "return '' + await tools.test.echo({ n: 1 })",
        r#""{\"n\":1}""#,
        "as its JSON: take the field that is meant",
    );
    // The controls: the fields themselves, and a copy of the answer.
    for program in [
        format!("{read} return r.content"),
        format!("{read} return {{ ...r }}"),
        format!("{read} return structuredClone(r)"),
        format!("{read} return Object.keys(r)"),
    ] {
        assert_eq!(completed(&program).1, [""; 0], "{program}");
    }
}

#[test]
fn a_method_that_an_answer_does_not_have_leads_to_the_field_that_has_it() {
    for (program, hint) in [
        (
            "const r = await tools.test.echo({ content: 'a b' }); return r.split(' ')",
            "`r` is not a text; if it is the result of `tools.test.echo`, write `r.content.split(…)`, and if it is a call, `await` it first",
        ),
        (
            "const r = await tools.test.echo({ items: [1], total: 1 }); return r.map(x => x)",
            "`r` is not a list; if it is the result of `tools.test.echo`, write `r.items.map(…)`, and if it is a call, `await` it first",
        ),
    ] {
        let outcome = Run::new(program).go();
        assert_eq!(outcome.fault().hint.as_deref(), Some(hint), "{program}");
    }
    // The control: a method that neither texts nor lists have.
    let outcome =
        Run::new("const r = await tools.test.echo({ content: 'a' }); return r.fetch()").go();
    let hint = outcome.fault().hint.as_deref().unwrap();
    assert!(!hint.contains("content"), "{hint}");
}

#[test]
fn what_json_and_texts_cannot_hold_is_a_warning_that_names_the_place() {
    warned(
        "return { a: null, b: [1, { c: 0 / 0 }] }",
        r#"{"a":null,"b":[1,{"c":null}]}"#,
        "`value.b[1].c` is NaN",
    );
    warned("return 10 / 0", "null", "`value` is Infinity");
    warned(
        "await tools.test.echo({ n: NaN }); return 1",
        "1",
        "`argument.n` of tools.test.echo is NaN",
    );
    warned(
        "const p = tools.test.echo({}); const text = 'x: ' + p; await p; return text",
        r#""x: [object Promise]""#,
        "a promise was put into a text",
    );
    warned(
        "await tools.test.echo({ text: 'a ' + {} }); return 1",
        "1",
        "an argument of tools.test.echo has the text `[object Object]`",
    );
    warned(
        "console.log('a ' + {}); return 1",
        "1",
        "the printed text has the text `[object Object]`",
    );
    warned(
        "return `${{ a: 1 }}`",
        r#""[object Object]""#,
        "the returned value has the text `[object Object]`",
    );
    warned("return Symbol('x')", "undefined", "returned a symbol");
    warned(
        "const p = tools.test.echo({}); const text = JSON.stringify({ p }); await p; return text",
        r#""{\"p\":{}}""#,
        "by `JSON.stringify`",
    );
    // The controls: null on purpose, numbers, and an object that is printed as one.
    for program in [
        "return { a: null, b: [1, -0, 1e300] }",
        "console.log({ a: 1 }); return 'null'",
        "await tools.test.echo({ n: null }); return 1",
    ] {
        assert_eq!(completed(program).1, [""; 0], "{program}");
    }
}

#[test]
fn a_property_that_is_read_of_a_promise_is_a_warning() {
    let get = "const get = async n => (await tools.test.echo({ n })).n;";
    for (read, name) in [
        ("const r = get(1); await r; return String(r.n)", "n"),
        (
            "const r = get(1); await r; return String(r.length)",
            "length",
        ),
        (
            "const r = get(1); await r; const { total } = r; return String(total)",
            "total",
        ),
    ] {
        warned(
            &format!("{get} {read}"),
            "\"undefined\"",
            &format!("`{name}` was read of a promise"),
        );
    }
    // The control: what promises have, and what the program gave one.
    let (value, warnings) = completed(&format!(
        "{get} const r = get(1); r.mine = 2; const all = [await r.then(n => n).finally(() => 0), r.mine, r instanceof Promise,
         r instanceof Object, r.hasOwnProperty('mine'), 'n' in r, Object.prototype.toString.call(r)]; return all"
    ));
    assert_eq!(value, r#"[1,2,true,true,true,false,"[object Promise]"]"#);
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn an_async_callback_of_a_method_that_decides_is_a_warning() {
    for (call, value) in [
        ("filter", "[1,2]"),
        ("some", "true"),
        ("find", "1"),
        ("every", "true"),
    ] {
        let list = format!(
            "const ok = async n => (await tools.test.echo({{ n }})).n > 1; return [1, 2].{call}"
        );
        warned(
            &format!("{list}(ok)"),
            value,
            &format!("the callback of `{call}` is async"),
        );
        // The control: a callback that answers at once.
        let (_, warnings) = completed(&format!("{list}(n => n > 1)"));
        assert_eq!(warnings, [""; 0], "{call}");
    }
}

#[test]
fn a_pause_that_is_written_as_elsewhere_says_how_it_is_written_here() {
    let outcome = Run::new("await setTimeout(100)").go();
    let message = &outcome.fault().message;
    assert!(
        message.contains("await new Promise((resolve) => setTimeout(resolve, 100))"),
        "{message}"
    );
}

#[test]
fn a_program_that_asks_for_a_module_reads_which_globals_there_are() {
    let outcome = Run::new("const fs = require('fs'); return fs").go();
    let hint = outcome.fault().hint.as_deref().unwrap();
    assert!(hint.contains("tools, callMCPTool, search"), "{hint}");
}

#[test]
fn functions_among_promises_are_a_warning_and_no_list_is_an_error_that_says_so() {
    for name in ["all", "allSettled", "any", "race"] {
        let close = "const close = id => tools.test.echo({ id });";
        let given =
            |list: &str| completed(&format!("{close} await Promise.{name}({list}); return 1"));
        let (value, warnings) = given("[1, 2].map(id => () => close(id))");
        assert_eq!(value, "1");
        let expected = format!("`Promise.{name}` was given a function, which it does not call");
        assert!(
            warnings.len() == 1 && warnings[0].starts_with(&expected),
            "{warnings:?}"
        );
        // The control.
        assert_eq!(given("[1].map(close)").1, [""; 0], "{name}");
    }
    warned(
        "const close = id => tools.test.echo({ id }); return [1, 2].map(id => close)",
        "[null,null]",
        "`value[0]` is a function, which became null: call it",
    );
    let outcome = Run::new("await Promise.all([1].forEach(async n => n))").go();
    let message = &outcome.fault().message;
    assert!(message.contains("`forEach` returns nothing"), "{message}");
}

#[test]
fn an_async_generator_as_the_value_gives_its_items() {
    let made = "async function* made() { yield (await tools.test.echo({ n: 1 })).n; yield 2 }";
    warned(
        &format!("{made} return made()"),
        "[1,2]",
        "the program returned an async generator",
    );
    // The control.
    let (value, warnings) = completed(&format!(
        "{made} const all = []; for await (const n of made()) all.push(n); return all"
    ));
    assert_eq!((value.as_str(), warnings.len()), ("[1,2]", 0));
}

#[test]
fn names_of_other_clients_for_resources_and_prompts_name_the_right_call() {
    for (called, right) in [
        (
            "readResource('file:///a')",
            "servers.test.resources.read(uri)",
        ),
        ("getPrompt('p')", "servers.test.prompts.get(name"),
    ] {
        let outcome = Run::new(&format!("return await servers.test.{called}")).go();
        let message = &outcome.fault().message;
        assert!(message.contains(right), "{message}");
    }
}

#[test]
fn a_list_of_a_text_and_an_offer_among_tools_have_hints_with_the_right_call() {
    let hint = |program: &str| {
        let mut run = Run::new(program);
        run.big = r#""{\"tickets\":[1]}""#.to_owned();
        let outcome = run.go();
        outcome.fault().hint.clone().unwrap()
    };
    for list in [
        "const all = [];\nall.push(...r.tickets); return all",
        "let n = 0;\nfor (const one of r.tickets) n += 1; return n",
    ] {
        let of_text = hint(&format!("const r = await tools.test.big({{}}); {list}"));
        assert!(of_text.contains("write `JSON.parse(r)`"), "{of_text}");
        // The control: the result is an object.
        let of_object = hint(&format!("const r = await tools.test.echo({{}}); {list}"));
        assert!(!of_object.contains("JSON.parse"), "{of_object}");
    }
    let offer = hint("return await tools.test.resources.read('file:///a')");
    assert!(
        offer.contains("`await servers.test.resources.read(…)`"),
        "{offer}"
    );
}
