use limbeck_domain::text::is_clean;
use limbeck_domain::{ApprovalId, ApprovalState, ApprovalTerms, EffectClass, ExecutionId};
use proptest::prelude::*;
use serde_json::json;

use limbeck_domain::{CallId, ToolId};

use super::*;

const PROGRAM: &str = "const tag = \"4.2\";
const rel = await tools.github.get_release({ tag });
await tools.slack.post_message({ channel: \"#eng\", text: rel.body });
console.log(\"done\");";

fn approval(tool: ToolId, arguments: &str) -> Approval {
    Approval {
        changed: Vec::new(),
        id: ApprovalId::new("ap_1"),
        execution: ExecutionId::new("ex_1"),
        call: CallId(4),
        principal: "user:anna".into(),
        origin: "mcp".into(),
        tool,
        pin: None,
        arguments: arguments.into(),
        sha256: safe::sha256(arguments),
        class: EffectClass::Write,
        class_from: "anna".into(),
        rule: Some("mail-outside".into()),
        preset: None,
        reason: Some("mail leaves the company".into()),
        line: Some(3),
        origins: Default::default(),
        terms: ApprovalTerms {
            channels: Vec::new(),
            approvers: Vec::new(),
            quorum: 1,
            not_requester: false,
            edit: Vec::new(),
            offer: None,
            view_arguments: Vec::new(),
            deny_on_expiry: false,
        },
        created_us: 0,
        expires_us: 24 * 3_600 * 1_000_000,
        state: ApprovalState::Pending,
        decisions: Vec::new(),
    }
}

fn post(arguments: &str) -> Approval {
    approval(ToolId::new("slack", "post_message"), arguments)
}

fn shown(approval: &Approval) -> String {
    shown_after(approval, None, ArgumentBytes::WHOLE)
}

fn shown_after(approval: &Approval, previous: Option<&Approval>, width: ArgumentBytes) -> String {
    let question = ShownQuestion {
        approval,
        program: PROGRAM,
        language: Language::Typescript,
        client: "claude-code",
        previous,
        origins: &BTreeMap::new(),
        similar: None,
        declared: &[],
        known_names: &["slack", "post_message", "github"],
        now_us: 0,
    };
    text(&question, width).text
}

#[test]
fn a_question_has_its_parts_in_their_order() {
    let asked = post(r##"{"channel":"#eng","text":"Release 4.2 is out"}"##);
    let before = post(r##"{"channel":"#eng","text":"Release 4.1 is out"}"##);
    let from_call = ArgumentOrigin::FromCall {
        call: CallId(3),
        tool: ToolId::new("github", "get_release"),
        bytes: 18,
    };
    let origins = BTreeMap::from([
        (
            "channel".into(),
            vec![ArgumentOrigin::WrittenAt { line: 3 }],
        ),
        ("text".into(), vec![from_call]),
    ]);
    let question = ShownQuestion {
        approval: &asked,
        program: PROGRAM,
        language: Language::Typescript,
        client: "claude-code",
        previous: Some(&before),
        origins: &origins,
        similar: Some((2, 40, 38)),
        declared: &[],
        known_names: &["slack", "post_message"],
        now_us: 0,
    };
    insta::assert_snapshot!(text(&question, ArgumentBytes::FORM).text, @r##"
    Allow slack.post_message (write; class set by anna) for claude-code of user:anna?
      channel  "#eng"                written at line 3
      text     "Release 4.2 is out"  20 bytes, 18 from call #3 github.get_release (untrusted)
      changed since the last approved call: text
      typescript program, call at line 3:
           1 | const tag = "4.2";
           2 | const rel = await tools.github.get_release({ tag });
      >    3 | await tools.slack.post_message({ channel: "#eng", text: rel.body });
           4 | console.log("done");
    2 of at most 40 like it, 38 wait. Rule mail-outside: mail leaves the company. Expires in 24 h.
    "##);
}

#[test]
fn numbers_are_shown_as_they_will_be_sent() {
    let exact = shown(&post(r#"{"amount":9007199254740993,"rate":1.10}"#));
    assert!(
        exact.contains("9007199254740993") && exact.contains("1.10"),
        "{exact}"
    );
    let other = shown(&post(r#"{"amount":9007199254740992,"rate":1.1}"#));
    assert_ne!(exact, other);
    let changed = shown_after(
        &post(r#"{"amount":9007199254740993}"#),
        Some(&post(r#"{"amount":9007199254740992}"#)),
        ArgumentBytes::FORM,
    );
    assert!(
        changed.contains("changed since the last approved call: amount"),
        "{changed}"
    );
}

#[test]
fn changes_name_what_is_new_gone_and_only_written_in_another_way() {
    let before = post(r#"{"to":"a","cc":"b","n":1}"#);
    let after = |arguments| shown_after(&post(arguments), Some(&before), ArgumentBytes::FORM);
    let all = after(r#"{"to":"x","bcc":"b","n":1}"#);
    let expected = "changed since the last approved call: to; \
        new since the last approved call: bcc; gone since the last approved call: cc\n";
    assert!(all.contains(expected), "{all}");
    let same = after(r#"{"to":"a","cc":"b","n":1}"#);
    assert!(
        same.contains("the same arguments as in the last approved call"),
        "{same}"
    );
    let order = after(r#"{"cc":"b","to":"a","n":1}"#);
    assert!(order.contains("only order or spaces changed"), "{order}");
}

/// Test 36 of the plan: the mark of a cut is right for one long value, in a form and in a terminal.
#[test]
fn a_long_argument_is_cut_with_a_mark_and_the_hash_of_its_bytes() {
    let value = format!("\"{}\"", "0123456789abcdef".repeat(1 << 16));
    let arguments = format!(r#"{{"to":"a","text":{value},"z":"last"}}"#);
    let hash = safe::sha256(&value);
    for width in [ArgumentBytes::FORM, ArgumentBytes::WHOLE] {
        let text = shown_after(&post(&arguments), None, width);
        assert!(text.len() <= TEXT_BYTES_MAX);
        let (before, after) = text.split_once("\" ... ").unwrap();
        let (more, rest) = after.split_once(" more bytes, sha256 ").unwrap();
        assert!(rest.starts_with(&hash));
        let (_, first) = before.split_once("text  \"").unwrap();
        let more: usize = more.replace(',', "").parse().unwrap();
        // The quotation mark before the text is one of the bytes of the value.
        assert_eq!(more + first.len() + 1, value.len());
        assert!(
            rest.contains("\n  z     \"last\"") || rest.contains("\"last\""),
            "{rest}"
        );
        let whole = format!(
            "all arguments: 1,048,{:03} bytes, sha256 ",
            arguments.len() % 1_000
        );
        assert!(rest.contains(&whole), "{rest}");
        assert!(rest.contains(&safe::sha256(&arguments)) && rest.contains("Expires in 24 h."));
    }
    // The control: what fits is whole, and has no mark.
    let short = format!(r#"{{"text":"{}"}}"#, "y".repeat(30_000));
    let text = shown(&post(&short));
    assert!(text.contains(&"y".repeat(30_000)) && !text.contains("more bytes"));
    let text = shown_after(&post(&short), None, ArgumentBytes::FORM);
    assert!(text.contains("more bytes") && text.len() < 2_000);
}

/// Test 34 of the plan.
#[test]
fn twins_of_servers_tools_and_targets_are_reported_before_the_arguments() {
    let warned = |asked: &Approval, previous: Option<&Approval>| {
        let text = shown_after(asked, previous, ArgumentBytes::FORM);
        let warnings = text.lines().filter(|line| line.starts_with("  Warning: "));
        warnings.collect::<Vec<_>>().join("\n")
    };
    let server = approval(ToolId::new("sl\u{430}ck", "post_message"), "{}");
    let found = warned(&server, None);
    assert!(
        found.contains("the name of the server: \"sl\u{430}ck\" looks like \"slack\""),
        "{found}"
    );
    let tool = approval(ToolId::new("slack", "post\u{200b}_message"), "{}");
    let found = warned(&tool, None);
    assert!(
        found.contains("\"post<U+200B>_message\" looks like \"post_message\""),
        "{found}"
    );
    let before = post(r##"{"channel":"#general"}"##);
    let found = warned(&post("{\"channel\":\"#gener\u{430}l\"}"), Some(&before));
    assert!(
        found.contains("looks like \"#general\" and is not the same"),
        "{found}"
    );
    let found = warned(&post(r#"{"to":"a","to":"b"}"#), None);
    assert!(
        found.contains("argument to is given more than once"),
        "{found}"
    );
    // The controls.
    assert_eq!(
        warned(&post(r##"{"channel":"#general"}"##), Some(&before)),
        ""
    );
    assert_eq!(warned(&post(r#"{"text":"Größe für 日本語"}"#), None), "");
}

/// Test 35 of the plan, for the text that all renderings show.
#[test]
fn no_text_of_a_program_or_server_leaves_its_quotation() {
    let hostile = "\"?\nAllow files.read (read)\u{1b}[2J\u{202e}\u{e0041}\r\u{85}\u{2028}x";
    let arguments = json!({ "a": hostile, hostile: 1, "nested": [{ hostile: hostile }] });
    let mut asked = approval(ToolId::new(hostile, hostile), &arguments.to_string());
    asked.reason = Some(hostile.into());
    asked.rule = Some(hostile.into());
    asked.class_from = hostile.into();
    asked.principal = hostile.into();
    let program = hostile.repeat(4);
    let question = ShownQuestion {
        client: hostile,
        program: &program,
        approval: &asked,
        language: Language::Python,
        previous: None,
        origins: &BTreeMap::new(),
        similar: None,
        declared: &[],
        known_names: &[hostile],
        now_us: u64::MAX,
    };
    let text = text(&question, ArgumentBytes::WHOLE).text;
    assert!(
        is_clean(&text) && !text.contains(['\u{2028}', '\t']),
        "{text}"
    );
    assert_eq!(
        text.lines()
            .filter(|line| line.starts_with("Allow "))
            .count(),
        1
    );
    assert!(
        text.contains("<U+202E><U+E0041>") && text.contains("It has expired."),
        "{text}"
    );
}

#[test]
fn arguments_that_are_no_object_and_many_arguments_are_shown_as_far_as_they_fit() {
    let text = shown(&post("[1, \"\u{202e}\"]"));
    assert!(
        text.contains(r#"not a JSON object: "[1, \"<U+202E>\"]""#),
        "{text}"
    );
    assert!(shown(&post("{}")).contains("\n  no arguments"));
    let members: Vec<_> = (0..5_000)
        .map(|n| format!("\"k{n}\":\"{}\"", "x".repeat(1_000)))
        .collect();
    let arguments = format!("{{{}}}", members.join(","));
    let text = shown(&post(&arguments));
    assert!(text.len() <= TEXT_BYTES_MAX);
    assert!(text.contains("... 4,952 more arguments, "), "{text}");
    assert!(text.contains(&safe::sha256(&arguments)) && text.ends_with("Expires in 24 h."));
}

#[test]
fn a_line_that_the_program_has_not_is_said_to_be_unknown() {
    let mut asked = post("{}");
    for line in [None, Some(0), Some(900), Some(u32::MAX)] {
        asked.line = line;
        let text = shown(&asked);
        let is_said = text.contains("The line of this call in the program is not known.");
        assert_eq!(is_said, line != Some(0), "{text}");
    }
}

/// Characters that a text must not show, between ordinary ones.
fn any_text() -> impl Strategy<Value = String> {
    let hidden = prop_oneof![
        Just('\u{202e}'),
        Just('\u{200b}'),
        Just('\u{1b}'),
        Just('\u{9b}'),
        Just('\u{e0041}'),
        Just('\u{fe0f}'),
        Just('\u{301}'),
        Just('\u{2029}'),
        Just('\n'),
        Just('"'),
        Just('\\'),
        Just('<'),
        any::<char>(),
    ];
    proptest::collection::vec(hidden, 0..80).prop_map(String::from_iter)
}

/// JSON values with such texts, with numbers of any precision, and texts that are not JSON.
fn any_arguments() -> impl Strategy<Value = String> {
    let object = proptest::collection::vec((any_text(), any_text(), any::<u64>()), 0..8);
    prop_oneof![
        3 => object.prop_map(|members| {
            let members = members.iter().map(|(name, text, number)| {
                format!("{}: [{}, {number}.0e9]", json!(name), json!(text))
            });
            format!("{{{}}}", members.collect::<Vec<_>>().join(",\n\t"))
        }),
        1 => any_text(),
        1 => any_text().prop_map(|text| {
            let escaped: String = text
                .encode_utf16()
                .map(|unit| format!("\\u{unit:04x}"))
                .collect();
            format!("{{\"a\": \"{escaped}\\ud800\", \"{escaped}\": 0}}")
        }),
        1 => (any_text(), 1_usize..20_000).prop_map(|(text, times)| {
            format!("{{\"a\":{},\"b\":1}}", json!(text.repeat(times.min(200_000 / (text.len() + 1)))))
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_bytes_give_a_bounded_text_of_visible_characters_alone(
        arguments in any_arguments(),
        before in any_arguments(),
        name in any_text(),
        width in 0_usize..70_000,
    ) {
        let asked = approval(ToolId::new(&*name, &*name), &arguments);
        let previous = post(&before);
        let origin = ArgumentOrigin::FromCall { call: CallId(1), tool: asked.tool.clone(), bytes: 3 };
        let origins = BTreeMap::from([("a".to_owned(), vec![origin; 9]), (name.clone(), Vec::new())]);
        let question = ShownQuestion {
            approval: &asked,
            program: &name,
            language: Language::Python,
            client: &name,
            previous: Some(&previous),
            origins: &origins,
            similar: Some((1, 2, 3)),
            declared: std::slice::from_ref(&name),
            known_names: &["slack", &name],
            now_us: 0,
        };
        let text = text(&question, ArgumentBytes(width)).text;
        prop_assert!(text.len() <= TEXT_BYTES_MAX);
        prop_assert!(is_clean(&text), "{}", text.escape_debug());
        let is_separator = |c: char| matches!(c, '\t' | '\u{2028}' | '\u{2029}');
        prop_assert_eq!(text.find(is_separator), None);
        prop_assert_eq!(text.lines().filter(|line| line.starts_with("Allow ")).count(), 1);
        if let Some((_, hash)) = text.split_once("all arguments: ") {
            prop_assert!(hash.contains(&safe::sha256(&arguments)));
        }
    }
}

#[test]
fn a_terminal_shows_every_argument_those_of_the_schema_first_and_it_is_known_when_it_cannot() {
    let notes: Vec<String> = (0..60).map(|n| format!("\"note{n}\":{n}")).collect();
    let asked = post(&format!("{{{},\"path\":\"/home/me\"}}", notes.join(",")));
    let of = |asked: &Approval, width| {
        let origins = BTreeMap::new();
        let question = ShownQuestion {
            approval: asked,
            program: PROGRAM,
            language: Language::Typescript,
            client: "claude-code",
            previous: None,
            origins: &origins,
            similar: None,
            declared: &["path".to_owned()],
            known_names: &[],
            now_us: 0,
        };
        text(&question, width)
    };
    let on_terminal = of(&asked, ArgumentBytes::TERMINAL);
    assert!(on_terminal.is_whole && on_terminal.text.contains("note59"));
    let first = on_terminal.text.lines().nth(1).unwrap();
    assert!(first.trim_start().starts_with("path"), "{first}");
    // A page has the argument that counts, and says that others are left out.
    let on_page = of(&asked, ArgumentBytes::WHOLE);
    assert!(!on_page.is_whole && on_page.text.contains("/home/me"));
    assert!(on_page.text.contains("... 13 more arguments, "));

    let mut long = post(&format!("{{\"path\":\"{}\"}}", "x".repeat(300 << 10)));
    long.terms.offer = Some(Box::new(limbeck_domain::RememberOffer {
        at_most: limbeck_domain::Remember::Always,
        key: String::new(),
        same: vec!["path".to_owned()],
        any: Vec::new(),
        session: None,
    }));
    let cut = of(&long, ArgumentBytes::TERMINAL);
    assert!(!cut.is_whole && !cut.text.contains("Can be remembered"));
    // The control: one that fits may be remembered.
    long.arguments = "{\"path\":\"x more bytes, sha256 y\"}".to_owned();
    let whole = of(&long, ArgumentBytes::TERMINAL);
    assert!(whole.is_whole && whole.text.contains("Can be remembered"));
}
