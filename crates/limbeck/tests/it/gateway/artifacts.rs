//! Artifacts: results that are too large or binary, and how later programs read them.

use std::sync::Arc;

use limbeck_domain::limits::EMITTED_MAX;
use limbeck_domain::{Envelope, ErrorKind};
use limbeck_gateway::{AnswerForm, Gateway, Render, tokens};
use limbeck_store::Store;
use limbeck_testkit::{FakeServer, World, python_request, request, run, run_python, value_of};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::gateway::worker;

const ROWS: &str = "const rows = Array.from({ length: 5000 }, (_, id) => ({ id, name: `row ${id}`, price: id / 4 }));";

async fn within(gateway: &Gateway, program: &str, tokens: u64) -> Envelope {
    let mut request = request(program);
    request.answer.tokens_max = Some(tokens);
    gateway.execute(request, CancellationToken::new()).await
}

fn first_id(envelope: &Envelope) -> String {
    let id = envelope.artifacts[0].id.as_ref();
    id.unwrap_or_else(|| panic!("{envelope:?}")).to_string()
}

fn tokens_of(envelope: &Envelope) -> usize {
    tokens::count(&serde_json::to_string(envelope).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_over_its_budget_is_read_in_parts_by_later_programs_of_either_language() {
    let gateway = World::new(worker()).start().await;
    let whole = within(
        &gateway,
        &format!("{ROWS} return rows.slice(0, 100)"),
        10_000,
    )
    .await;
    assert!(whole.artifacts.is_empty() && whole.value.is_some());

    let large = within(
        &gateway,
        &format!("{ROWS} console.log('done'); return rows"),
        2_000,
    )
    .await;
    assert!(tokens_of(&large) <= 2_000, "{}", tokens_of(&large));
    assert!(large.value.is_none());
    assert_eq!(large.stdout, "done\n");
    let view = &large.artifacts[0];
    assert_eq!(view.counts.items, Some(5_000));
    assert_eq!(
        view.shape.as_deref(),
        Some("{ id: number, name: string, price: number }[]")
    );
    let id = first_id(&large);

    let typescript = format!(
        "const opened = artifacts.open('{id}');
         let sum = 0;
         for await (const item of opened) sum += item.id;
         const dear = await opened.select('$[?@.price > 1249].id');
         const info = await opened.info();
         return [sum, dear, (await opened.json()).length, info.items, info.mimeType, (await artifacts.list()).length]"
    );
    let python = format!(
        "opened = artifacts.open('{id}')\n\
         total = sum([item.id async for item in opened])\n\
         dear = await opened.select('$[?@.price > 1249].id')\n\
         info = await opened.info()\n\
         [total, dear, len(await opened.json()), info['items'], info.mimeType, len(await artifacts.list())]"
    );
    let sum: u64 = (0..5_000).sum();
    let expected = json!([sum, [4997, 4998, 4999], 5_000, 5_000, "application/json", 1]);
    for envelope in [
        run(&gateway, &typescript).await,
        run_python(&gateway, &python).await,
    ] {
        assert_eq!(value_of(&envelope), expected);
        let id = envelope.execution_id.as_str();
        let report = gateway.replay(id).await.unwrap();
        assert_eq!(report.differences, Vec::<String>::new());
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_principals_artifact_is_as_unknown_as_one_that_never_was() {
    let gateway = World::new(worker()).start().await;
    let large = within(&gateway, &format!("{ROWS} return rows"), 1_000).await;
    let program = |id: &str| {
        format!(
            "try {{ return (await artifacts.open('{id}').json()).length }}
             catch (e: any) {{ return [e.code, e.message, e.hint.includes('art_')] }}"
        )
    };
    let own = program(&first_id(&large));
    assert_eq!(value_of(&run(&gateway, &own).await), 5_000);

    let mut foreign = request(&own);
    foreign.principal = "another principal".to_owned();
    let foreign = gateway.execute(foreign, CancellationToken::new()).await;
    let never = run(&gateway, &program("art_00000000000000000000000000000000")).await;
    let unknown = json!(["invalid_arguments", "artifact expired or unknown", true]);
    assert_eq!(value_of(&foreign), unknown);
    assert_eq!(value_of(&never), unknown);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_keep_values_and_texts_and_read_them_as_what_they_are() {
    let gateway = World::new(worker()).start().await;
    let envelope = run(
        &gateway,
        "const value = await artifacts.save({ items: [1, 2] }, 'numbers');
         const text = await artifacts.save('one\\ntwo');
         const same = await artifacts.save({ items: [1, 2] });
         const lines = [];
         for await (const line of artifacts.open(text.id)) lines.push(line);
         const caught = async (work: any) => { try { return await work() } catch (e: any) { return e.message + '; ' + e.hint } };
         return [value.id === same.id, value.name, lines, await artifacts.open(value).text(),
           await caught(() => artifacts.open(text.id).json()),
           await caught(() => artifacts.open(value.id).select('items')),
           await caught(async () => { for await (const x of artifacts.open(value.id)) return x }),
           (await artifacts.list()).map((one: any) => one.bytes)]",
    )
    .await;
    let value = value_of(&envelope);
    assert_eq!(value[0], true);
    assert_eq!(value[1], "numbers");
    assert_eq!(value[2], json!(["one", "two"]));
    assert_eq!(value[3], r#"{"items":[1,2]}"#);
    let message = |at: usize| value[at].as_str().unwrap().to_owned();
    assert!(
        message(4).contains("is text/plain, not JSON; read it with `.text()`"),
        "{value}"
    );
    assert!(
        message(5).contains("is not valid") && message(5).contains("RFC 9535"),
        "{value}"
    );
    assert!(
        message(6).contains("is not an array") && message(6).contains("select"),
        "{value}"
    );
    assert_eq!(value[7], json!([15, 7]));
    gateway.shutdown().await;
}

fn camera() -> Arc<FakeServer> {
    FakeServer::new("camera")
        .tool("shoot", Some(true), |_| {
            let image = json!({"type": "image", "data": "AAEC/w==", "mimeType": "image/png"});
            Box::pin(async move { json!({"content": [{"type": "text", "text": "a cat"}, image]}) })
        })
        .share()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_of_a_tool_is_a_handle_whose_content_never_reaches_the_model_by_accident() {
    let camera = camera();
    let gateway = World::new(worker()).server(&camera).start().await;
    let envelope = run(&gateway, "return await tools.camera.shoot({})").await;
    let value = value_of(&envelope);
    assert_eq!(value[0], "a cat");
    assert_eq!(value[1]["mimeType"], "image/png");
    assert_eq!(value[1]["bytes"], 4);

    let bytes = "const [, handle] = await tools.camera.shoot({});
        const { content } = await tools.camera.shoot.raw({});
        return [[...(await artifacts.open(handle).bytes())], content[1].data]";
    assert_eq!(
        value_of(&run(&gateway, bytes).await),
        json!([[0, 1, 2, 255], "AAEC/w=="])
    );
    let bytes = "handle = tools.camera.shoot()[1]\n[list(artifacts.open(handle).bytes()), tools.camera.shoot.raw().content[1].data]";
    assert_eq!(
        value_of(&run_python(&gateway, bytes).await),
        json!([[0, 1, 2, 255], "AAEC/w=="])
    );

    let raw = run(&gateway, "return await tools.camera.shoot.raw({})").await;
    assert_eq!(value_of(&raw)["content"][1], value[1]);
    assert!(
        raw.warnings.iter().any(|warning| warning.contains("emit")),
        "{raw:?}"
    );
    let report = gateway.replay(raw.execution_id.as_str()).await.unwrap();
    assert_eq!(report.differences, Vec::<String>::new());
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_takes_no_artifact_does_not_fail_the_call_that_was_made() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let store = Store::open(&path).unwrap();
    let camera = camera();
    let gateway = World::new(worker())
        .server(&camera)
        .store(store)
        .start()
        .await;
    let other = rusqlite::Connection::open(&path).unwrap();
    other
        .execute_batch(
            "CREATE TRIGGER full BEFORE INSERT ON artifact BEGIN SELECT RAISE(ABORT, 'disk full'); END",
        )
        .unwrap();
    let shoot = "return (await tools.camera.shoot({}))[1].data ?? 'a handle'";
    assert_eq!(value_of(&run(&gateway, shoot).await), json!("AAEC/w=="));
    assert_eq!(camera.calls(), ["shoot"]);

    // The control: within the bound it is a handle.
    other.execute_batch("DROP TRIGGER full").unwrap();
    assert_eq!(value_of(&run(&gateway, shoot).await), json!("a handle"));
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_value_with_an_image_inside_the_image_is_emitted() {
    let camera = camera();
    let gateway = World::new(worker()).server(&camera).start().await;
    let nothing = "invalid_arguments";
    for envelope in [
        run(
            &gateway,
            "const shot = await tools.camera.shoot({});
            await emit(shot);
            await emit({ shots: [{ shot }] });
            try { await emit({ shots: ['a text'] }) } catch (e: any) { return e.code }",
        )
        .await,
        run_python(
            &gateway,
            "shot = tools.camera.shoot()\n\
            emit(shot)\n\
            emit({'shots': [{'shot': shot}]})\n\
            try:\n    emit({'shots': ['a text']})\nexcept ToolError as e:\n    return e.code",
        )
        .await,
    ] {
        assert_eq!(value_of(&envelope), nothing);
        let images: Vec<_> = envelope
            .emitted
            .iter()
            .filter(|emitted| emitted.mime_type.as_deref() == Some("image/png"))
            .collect();
        assert_eq!(images.len(), 2, "{envelope:?}");
        let block: Value = serde_json::from_str(images[0].block.as_ref().unwrap().get()).unwrap();
        assert_eq!(
            block,
            json!({"type": "image", "data": "AAEC/w==", "mimeType": "image/png"})
        );
        // The texts beside the images are not blocks.
        assert!(
            envelope.emitted.iter().all(|block| block.text.is_none()),
            "{envelope:?}"
        );
    }
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn blocks_are_emitted_in_order_in_either_language_and_bounded() {
    let camera = camera();
    let gateway = World::new(worker()).server(&camera).start().await;
    let typescript = "const [, handle] = await tools.camera.shoot({});
        await emit('a text');
        await emit(handle);
        const saved = await artifacts.save({ a: 1 });
        await Promise.all([emit(artifacts.open(saved.id)), emit({ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' })]);
        let refused; try { await emit({ type: 'video' }) } catch (e: any) { refused = e.code }
        return refused";
    let python = "handle = tools.camera.shoot()[1]\n\
        emit('a text')\n\
        emit(handle)\n\
        saved = artifacts.save({'a': 1})\n\
        emit(artifacts.open(saved))\n\
        emit({'type': 'audio', 'data': 'AAAA', 'mimeType': 'audio/wav'})\n\
        try:\n    emit({'type': 'video'})\nexcept ToolError as e:\n    refused = e.code\n\
        refused";
    for envelope in [
        run(&gateway, typescript).await,
        run_python(&gateway, python).await,
    ] {
        assert_eq!(value_of(&envelope), "invalid_arguments");
        let blocks: Vec<Value> = envelope
            .emitted
            .iter()
            .map(|emitted| match &emitted.block {
                Some(block) => serde_json::from_str(block.get()).unwrap(),
                None => json!(emitted.text),
            })
            .collect();
        assert_eq!(blocks[0], "a text");
        assert_eq!(
            blocks[1],
            json!({"type": "image", "data": "AAEC/w==", "mimeType": "image/png"})
        );
        assert_eq!(blocks[2]["resource"]["text"], r#"{"a":1}"#);
        assert!(
            blocks[2]["resource"]["uri"]
                .as_str()
                .unwrap()
                .starts_with("limbeck://artifacts/art_")
        );
        assert_eq!(blocks[3]["mimeType"], "audio/wav");
        assert_eq!(blocks.len(), 4);
        let shown = serde_json::to_string(&envelope).unwrap();
        assert!(!shown.contains("AAEC"), "{shown}");
    }
    let many = format!("for (let i = 0; i <= {EMITTED_MAX}; i++) await emit(`${{i}}`)");
    let many = run(&gateway, &many).await;
    assert_eq!(many.emitted.len(), EMITTED_MAX);
    let error = many.error.unwrap();
    assert_eq!(error.kind, ErrorKind::Exception);
    assert!(error.message.contains("more than"), "{error:?}");
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn printed_text_errors_and_emitted_texts_count_and_are_kept_whole() {
    let gateway = World::new(worker()).start().await;
    let envelope = within(
        &gateway,
        "for (let i = 0; i < 3000; i++) console.log(`line ${i}`);
         await emit('word '.repeat(20000));
         throw new Error('no '.repeat(2000))",
        1_000,
    )
    .await;
    let emitted = envelope.emitted[0].text.as_deref().unwrap();
    assert!(tokens_of(&envelope) + tokens::count(emitted) <= 1_000);
    assert!(envelope.stdout.starts_with("line 0\n") && envelope.stdout.contains("lines left out"));
    assert!(emitted.contains("left out"), "{emitted}");
    let whats: Vec<&str> = envelope
        .artifacts
        .iter()
        .map(|view| view.what.as_str())
        .collect();
    assert_eq!(whats, ["stdout", "error", "emitted text"]);
    let stdout = &envelope.artifacts[0];
    let read = run(
        &gateway,
        &format!(
            "return (await artifacts.open('{}').text()).split('\\n').length",
            stdout.id.as_ref().unwrap()
        ),
    )
    .await;
    assert_eq!(value_of(&read), 3_001);
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_over_its_budget_as_json_may_fit_in_toon() {
    let gateway = World::new(worker()).start().await;
    let mut asked = request(&format!("{ROWS} return rows.slice(0, 200)"));
    asked.answer = AnswerForm {
        tokens_max: Some(3_000),
        render: Render::Json,
    };
    let as_json = gateway
        .execute(asked.clone(), CancellationToken::new())
        .await;
    asked.answer.render = Render::Auto;
    let as_toon = gateway.execute(asked, CancellationToken::new()).await;
    assert!(as_json.value.is_none() && as_json.artifacts.len() == 1);
    assert!(as_toon.value.is_some() && as_toon.artifacts.is_empty());
    gateway.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_outside_the_bounds_is_cut_with_a_warning() {
    let gateway = World::new(worker()).start().await;
    let envelope = within(&gateway, "return 1", 10).await;
    assert_eq!(value_of(&envelope), 1);
    assert_eq!(
        envelope.warnings,
        ["max_output_tokens 10 is outside 1000 to 60000; used 1000"]
    );
    let mut asked = python_request("print(1)");
    asked.answer.tokens_max = Some(1_000);
    let envelope = gateway.execute(asked, CancellationToken::new()).await;
    assert!(envelope.warnings.is_empty(), "{envelope:?}");
    gateway.shutdown().await;
}
