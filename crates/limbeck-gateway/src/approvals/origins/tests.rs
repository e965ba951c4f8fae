use limbeck_domain::{Repeat, SiteArgument};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn tool(name: &str) -> ToolId {
    ToolId::new("github", name)
}

fn from_call(call: u32, name: &str, bytes: usize) -> ArgumentOrigin {
    ArgumentOrigin::FromCall {
        call: CallId(call),
        tool: tool(name),
        bytes,
    }
}

/// Origins of an argument `a` of this value.
fn origins_of(origins: &Origins, value: &Value) -> Vec<ArgumentOrigin> {
    let arguments = json!({ "a": value }).to_string();
    origins.origins_of(&arguments, &[]).remove("a").unwrap()
}

#[test]
fn a_common_part_of_twelve_bytes_is_found_at_every_offset_and_one_of_eleven_is_not() {
    for offset in 0..16 {
        let mut origins = Origins::default();
        let text = format!("{}LMNOPQRSTUVW{}", "-".repeat(offset), "=".repeat(20));
        origins.delivered(
            CallId(3),
            &tool("get_issue"),
            &json!({ "t": text }).to_string(),
        );
        for before in 0..6 {
            let twelve = format!("{}LMNOPQRSTUVW!", "?".repeat(before));
            let expected = [from_call(3, "get_issue", 12)];
            assert_eq!(
                origins_of(&origins, &json!(twelve)),
                expected,
                "{offset} {before}"
            );
            let eleven = format!("{}LMNOPQRSTUV!", "?".repeat(before));
            assert_eq!(
                origins_of(&origins, &json!(eleven)),
                [ArgumentOrigin::Computed]
            );
        }
    }
}

#[test]
fn each_argument_names_the_calls_the_input_and_the_line_it_comes_from() {
    let mut origins = Origins::default();
    origins.input(r#"{"channel":"the-channel-of-the-input"}"#);
    let body = "Release 4.2 is out: \"new\"\nand more";
    origins.delivered(
        CallId(1),
        &tool("get_release"),
        &json!([{ "body": body }]).to_string(),
    );
    origins.delivered(
        CallId(2),
        &tool("get_notes"),
        "plain text of the second call",
    );
    let site = Site {
        line: 12,
        column: 1,
        server: Some("slack".into()),
        tool: "post".into(),
        arguments: vec![
            SiteArgument {
                name: "to".into(),
                value: Some(json!("#eng")),
            },
            SiteArgument {
                name: "n".into(),
                value: Some(json!(1.0)),
            },
            SiteArgument {
                name: "big".into(),
                value: Some(json!(9_007_199_254_740_993_u64)),
            },
            SiteArgument {
                name: "text".into(),
                value: None,
            },
        ],
        complete: true,
        positional: 0,
        awaited: true,
        guarded: false,
        repeat: Repeat::Once,
        reads: Vec::new(),
        compared: Vec::new(),
        listed: None,
        as_text: false,
        certain: false,
        idle: false,
        reach: limbeck_domain::Reach::Open,
        uses: Vec::new(),
    };
    // Python writes other letters by their numbers.
    let text = r#""New: Release 4.2 is out: \"new\"\u000aand more. plain text of the second""#;
    let arguments = format!(
        r##"{{"to":"#eng","n":1,"big":9007199254740992,"text":{text},"channel":["the-channel-of-the-input"],"x":5}}"##
    );
    let found = origins.origins_of(&arguments, &[&site]);
    let written = ArgumentOrigin::WrittenAt { line: 12 };
    let expected = BTreeMap::from([
        ("to".into(), vec![written.clone()]),
        ("n".into(), vec![written]),
        // It is not the constant that will be sent.
        ("big".into(), vec![ArgumentOrigin::Computed]),
        (
            "text".into(),
            vec![
                from_call(1, "get_release", body.len()),
                from_call(2, "get_notes", 24),
            ],
        ),
        ("channel".into(), vec![ArgumentOrigin::Input]),
        ("x".into(), vec![ArgumentOrigin::Computed]),
    ]);
    assert_eq!(found, expected);
    // The control: a constant of another value is not where it was written.
    let other = origins.origins_of(r##"{"to":"#ops"}"##, &[&site]);
    assert_eq!(other.get("to"), Some(&vec![ArgumentOrigin::Computed]));
    assert_eq!(origins.origins_of("not json", &[&site]), BTreeMap::new());
}

/// Texts without repetitions, each of other numbers.
fn numbered(from: u32, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 16);
    for number in from.. {
        if text.len() >= bytes {
            break;
        }
        text.push_str(&format!("{:08x} ", number.wrapping_mul(0x9e37_79b1)));
    }
    text
}

#[test]
fn memory_is_bounded_and_the_latest_results_are_kept() {
    let mut origins = Origins::default();
    let allocated = |origins: &Origins| origins.newer.allocated() + origins.older.allocated();
    for call in 0..10_u32 {
        origins.delivered(CallId(call), &tool("list"), &numbered(call << 20, 3 << 20));
        assert!(allocated(&origins) <= 56 << 20, "{}", allocated(&origins));
    }
    let part = numbered(9 << 20, 900);
    assert_eq!(
        origins_of(&origins, &json!(part)),
        [from_call(9, "list", part.len())]
    );
    let dropped = numbered(0, 900);
    assert_eq!(
        origins_of(&origins, &json!(dropped)),
        [ArgumentOrigin::Computed]
    );
    // One result that is longer than a generation is cut.
    origins.delivered(CallId(99), &tool("list"), &numbered(1 << 28, 20 << 20));
    assert!(allocated(&origins) <= 56 << 20, "{}", allocated(&origins));
    // Many short ones.
    for call in 100..80_000 {
        origins.delivered(CallId(call), &tool("get"), "twelve bytes");
    }
    assert!(allocated(&origins) <= 56 << 20, "{}", allocated(&origins));
}

/// With time in the square of the bytes this would take hours.
#[test]
fn texts_that_repeat_themselves_take_no_longer_than_others() {
    let mut origins = Origins::default();
    let same = "a".repeat(1 << 20);
    origins.delivered(CallId(1), &tool("get"), &same);
    origins.delivered(CallId(2), &tool("get"), &"ab".repeat(1 << 19));
    assert_eq!(
        origins_of(&origins, &json!(same)),
        [from_call(1, "get", same.len())]
    );
    let almost = "aaaaaaaaa-".repeat(100_000);
    assert_eq!(
        origins_of(&origins, &json!(almost)),
        [ArgumentOrigin::Computed]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_part_of_a_result_is_found_in_an_argument_and_never_more_than_it_has(
        seed in 0_u32..1 << 31,
        start in 0_usize..2_000,
        length in 12_usize..500,
        around in "[<>]{0,9}",
    ) {
        let mut origins = Origins::default();
        let result = numbered(seed, 4_000);
        origins.delivered(CallId(1), &tool("get"), &result);
        let part = &result[start..start + length];
        let found = origins_of(&origins, &json!(format!("{around}{part}{around}")));
        prop_assert_eq!(found, [from_call(1, "get", length)]);
    }
}
