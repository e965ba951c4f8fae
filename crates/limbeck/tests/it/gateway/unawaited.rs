//! Calls that a program did not await.

use std::time::Duration;

use limbeck_gateway::Gateway;
use limbeck_policy::{Classes, Policy};
use limbeck_testkit::{FakeServer, World, request, run, run_python, value_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

#[tokio::test(flavor = "multi_thread")]
async fn what_follows_a_call_that_was_not_awaited_is_run_and_replayed() {
    let t = FakeServer::new("t")
        .write("first", |arguments| json!({"n": arguments["n"]}))
        .write("second", |arguments| json!({"n": arguments["n"]}))
        .tool("refuse", Some(false), |_| {
            Box::pin(async {
                json!({"content": [{"type": "text", "text": "access denied"}], "isError": true})
            })
        })
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    let save = "const saved = []; const save = async n => { await tools.t.first({ n }); saved.push((await tools.t.second({ n })).n) };";
    let envelope = run(
        &gateway,
        &format!("{save} [1, 2].forEach(save); return saved"),
    )
    .await;
    let mut saved = value_of(&envelope).as_array().unwrap().clone();
    saved.sort_by_key(Value::as_u64);
    assert_eq!(saved, [json!(1), json!(2)]);
    let mut calls = t.calls();
    calls.sort();
    assert_eq!(calls, ["first", "first", "second", "second"]);
    let warnings = envelope.warnings.join("\n");
    assert!(
        warnings.contains(
            "4 calls were answered after the `return` (`t.first`, `t.second`); the program ran on"
        ),
        "{warnings}"
    );
    let report = gateway.replay(envelope.execution_id.as_str()).await;
    assert_eq!(report.unwrap().differences, Vec::<String>::new());
    // A write that fails there is named with its error, and the value of the program is kept.
    let late = run(
        &gateway,
        "[1].forEach(async n => { await tools.t.first({ n }); await tools.t.refuse({}) }); return 'saved'",
    )
    .await;
    assert_eq!(value_of(&late), json!("saved"));
    let warnings = late.warnings.join("\n");
    assert!(
        warnings
            .contains("1 call that may write failed: `t.refuse` (tool_failed: \"access denied\")"),
        "{warnings}"
    );
    // The control: a program that awaits the same calls.
    let awaited = run(
        &gateway,
        &format!("{save} await Promise.all([1, 2].map(save)); return saved.length"),
    )
    .await;
    assert_eq!(
        (value_of(&awaited), awaited.warnings),
        (json!(2), Vec::new())
    );
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_without_an_answer_takes_no_value_away_and_is_said_once() {
    let t = FakeServer::new("t")
        .tool("forever", Some(true), |_| Box::pin(std::future::pending()))
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    // The wait ends a quarter of the time limit before it.
    let mut limited = request("tools.t.forever({}); return 'kept'");
    limited.timeout_ms = Some(1_000);
    let envelope = gateway.execute(limited, CancellationToken::new()).await;
    assert_eq!(value_of(&envelope), json!("kept"));
    let [warning] = envelope.warnings.as_slice() else {
        panic!("{:?}", envelope.warnings)
    };
    let expected = "calls had no answer when the program ended";
    assert!(warning.starts_with(expected), "{warning}");
    assert!(warning.contains("(`t.forever`)"), "{warning}");
    let report = gateway.replay(envelope.execution_id.as_str()).await;
    assert_eq!(report.unwrap().differences, Vec::<String>::new());
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_a_python_program_gave_up_is_no_warning() {
    let t = FakeServer::new("t")
        .tool("forever", Some(true), |_| Box::pin(std::future::pending()))
        .share();
    let gateway = World::new(worker()).server(&t).start().await;
    let given_up = "import asyncio\ntry:\n    await asyncio.wait_for(tools.t.forever(), 0.02)\nexcept TimeoutError:\n    pass\nreturn 'late'";
    let envelope = run_python(&gateway, given_up).await;
    assert_eq!(value_of(&envelope), json!("late"));
    assert_eq!(envelope.warnings, [""; 0]);
    // The control: a call that the program forgot to await. It is in a list, because a plain `call = tools.t.forever()` that no
    // code awaits means the answer, and waits for it.
    let forgotten =
        "import asyncio\ncalls = [tools.t.forever()]\nawait asyncio.sleep(0)\nreturn 'late'";
    let warnings = run_python(&gateway, forgotten).await.warnings.join("\n");
    let expected = "the program returned before 1 of its calls had an answer";
    assert!(warnings.contains(expected), "{warnings}");
    gateway.shutdown().await;
}

/// A gateway that trusts no server's hints, with reads and a write that fail, and a read that takes its time.
async fn untrusting() -> Gateway {
    let refuse = || async {
        json!({"content": [{"type": "text", "text": "no such ticket"}], "isError": true})
    };
    let slow = || async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        json!({"content": []})
    };
    let t = FakeServer::new("t")
        .tool("look", Some(true), move |_| Box::pin(refuse()))
        .tool("get_ticket", None, move |_| Box::pin(refuse()))
        .tool("refuse", Some(false), move |_| Box::pin(refuse()))
        .tool("slow_look", Some(true), move |_| Box::pin(slow()))
        .tool("slow_write", Some(false), move |_| Box::pin(slow()))
        .share();
    let policy = Policy {
        classes: Classes::default(),
        ..Policy::default()
    };
    World::new(worker()).server(&t).policy(policy).start().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_seems_to_read_is_no_possible_write_in_a_warning_and_is_one_in_the_journal() {
    let gateway = untrusting().await;
    let raced = |tool: &str| {
        format!(
            "return await Promise.race([tools.t.{tool}({{}}), new Promise(done => setTimeout(() => done('late'), 10))])"
        )
    };
    let caught =
        |tool: &str| format!("try {{ await tools.t.{tool}({{}}) }} catch {{}} return 'done'");
    for program in [caught("look"), caught("get_ticket"), raced("slow_look")] {
        let envelope = run(&gateway, &program).await;
        assert_eq!(envelope.warnings, [""; 0], "{program}");
        // The class of the policy counts for everything else.
        let effects = envelope.effects.unwrap();
        assert_eq!((effects.reads, effects.writes), (0, 1), "{program}");
    }
    let failed = run(&gateway, "await tools.t.look({})").await;
    assert!(failed.error.is_some());
    let said = failed.warnings.join("\n");
    assert!(!said.contains("may have written"), "{said}");
    // The controls: the same programs with a tool that writes.
    for (program, words) in [
        (caught("refuse"), "1 call that may write failed: `t.refuse`"),
        (
            raced("slow_write"),
            "1 call was not awaited (`t.slow_write`)",
        ),
        (
            "await tools.t.refuse({})".to_owned(),
            "may have written: `t.refuse`",
        ),
    ] {
        let said = run(&gateway, &program).await.warnings.join("\n");
        assert!(said.contains(words), "{program}: {said}");
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_write_whose_raw_result_the_program_does_not_look_at_is_a_warning() {
    let gateway = untrusting().await;
    let failed = "1 call that may write failed: `t.refuse` (tool_failed: \"no such ticket\")";
    let by_full_name = failed.replace("t.refuse", "mcp__t__refuse");
    for (program, failed) in [
        ("await tools.t.refuse.raw({}); return 'closed'", failed),
        (
            "await callMCPTool('mcp__t__refuse', {}); return 'closed'",
            &by_full_name,
        ),
    ] {
        let said = run(&gateway, program).await.warnings.join("\n");
        assert!(said.contains(failed), "{program}: {said}");
    }
    let in_python = run_python(&gateway, "tools.t.refuse.raw()\n'closed'").await;
    let said = in_python.warnings.join("\n");
    assert!(said.contains(failed), "{said}");
    // The controls: a program that looks, one that shows the result, a call that succeeds and a read that fails.
    for program in [
        "const r = await tools.t.refuse.raw({}); return r.isError ? 'failed' : 'closed'",
        "return await tools.t.refuse.raw({})",
        "await tools.t.slow_write.raw({}); return 'written'",
        "await tools.t.look.raw({}); return 'looked'",
    ] {
        let envelope = run(&gateway, program).await;
        assert_eq!(envelope.warnings, [""; 0], "{program}");
    }
    gateway.shutdown().await;
}
