use std::collections::BTreeMap;

use limbeck_domain::text::is_clean;
use limbeck_domain::{
    Approval, ApprovalId, ApprovalState, ApprovalTerms, ExecutionId, Language, PLAN_CALL,
    PlanConstant, PlanSource, ToolId,
};

use super::super::{ArgumentBytes, TEXT_BYTES_MAX, is_plan_whole};
use super::*;

const PROGRAM: &str = "const rel = await tools.github.get_release({ tag });
for (const n of list) await tools.slack.post_message({ channel: \"#eng\", text: rel.body });
await tools.files.delete({ path: \"/tmp/draft\" });";

fn site(server: &str, tool: &str, class: EffectClass, line: u32) -> PlanSite {
    PlanSite {
        tool: ToolId::new(server, tool),
        pin: None,
        class,
        class_from: "operator".to_owned(),
        line,
        count: PlanCount::Once,
        constants: Vec::new(),
        open: Vec::new(),
        complete: true,
        from: Vec::new(),
    }
}

fn constant(name: &str, json: &str) -> PlanConstant {
    PlanConstant {
        name: name.to_owned(),
        json: json.to_owned(),
    }
}

fn asked(lines: Vec<PlanSite>) -> Approval {
    let plan = ApprovalPlan {
        lines,
        program_sha256: String::new(),
        input_sha256: String::new(),
        asked_singly: 2,
        unresolved: 0,
    };
    Approval {
        changed: Vec::new(),
        id: ApprovalId::new("ap_1"),
        execution: ExecutionId::new("ex_1"),
        call: PLAN_CALL,
        principal: "anna".to_owned(),
        origin: "mcp".to_owned(),
        tool: ToolId::new("slack", "post_message"),
        pin: None,
        arguments: serde_json::to_string(&plan).unwrap(),
        sha256: String::new(),
        class: EffectClass::Destructive,
        class_from: "operator".to_owned(),
        rule: None,
        preset: Some("balanced".to_owned()),
        reason: None,
        line: Some(2),
        origins: BTreeMap::new(),
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

fn with<T>(approval: &Approval, work: impl FnOnce(&ShownQuestion<'_>) -> T) -> T {
    work(&ShownQuestion {
        approval,
        program: PROGRAM,
        language: Language::Typescript,
        client: "claude-code",
        previous: None,
        origins: &BTreeMap::new(),
        similar: None,
        declared: &[],
        known_names: &["slack", "post_message", "files", "delete"],
        now_us: 0,
    })
}

fn shown(approval: &Approval) -> String {
    with(approval, |question| {
        super::super::text(question, ArgumentBytes::FORM).text
    })
}

#[test]
fn a_plan_shows_each_line_with_all_that_it_accepts() {
    let post = PlanSite {
        count: PlanCount::AtMost(1_000),
        constants: vec![constant("channel", "\"#eng\"")],
        open: vec!["text".to_owned()],
        complete: false,
        from: vec![PlanSource {
            tool: "github.get_release".to_owned(),
            line: 1,
        }],
        ..site("slack", "post_message", EffectClass::Write, 2)
    };
    let delete = PlanSite {
        constants: vec![
            constant("path", "\"/tmp/draft\""),
            constant("n", "9007199254740993"),
        ],
        ..site("files", "delete", EffectClass::Destructive, 3)
    };
    let many = PlanSite {
        count: PlanCount::Many(25),
        class_from: "unknown".to_owned(),
        ..site("crm", "touch", EffectClass::Unknown, 9)
    };
    insta::assert_snapshot!(shown(&asked(vec![post, delete, many])), @r##"
    Allow the writes of this program for claude-code of anna?
      1. slack.post_message (write; class set by the operator), at most 1,000 times, line 2
           channel  "#eng"
           text     computed when it runs, may have results of github.get_release (line 1), and of calls that could not be followed (untrusted)
           and any other arguments, computed when it runs, may have results of github.get_release (line 1), and of calls that could not be followed (untrusted)
               2 | for (const n of list) await tools.slack.post_message({ channel: "#eng", text: rel.body });
      2. files.delete (destructive; class set by the operator), once, line 3; only when it is chosen by its number
           path  "/tmp/draft"
           n     9007199254740993
               3 | await tools.files.delete({ path: "/tmp/draft" });
      3. crm.touch (unknown; no class was set), many times, 25 at most, line 9
           no arguments
    Other calls that write are asked about when they are made; the program has 2 such places.
    Preset balanced. Expires in 24 h.
    "##);
}

#[test]
fn a_long_constant_is_shown_whole_or_the_plan_is_not_asked_about() {
    let of = |bytes: usize| {
        let long = format!("\"{}\"", "x".repeat(bytes));
        asked(vec![PlanSite {
            constants: vec![constant("text", &long)],
            ..site("slack", "post_message", EffectClass::Write, 2)
        }])
    };
    let fits = of(40_000);
    assert!(shown(&fits).contains(&"x".repeat(40_000)));
    assert!(with(&fits, is_plan_whole));
    let long = of(TEXT_BYTES_MAX);
    assert!(!with(&long, is_plan_whole));
    assert!(shown(&long).len() <= TEXT_BYTES_MAX);
}

#[test]
fn names_and_constants_of_a_program_cannot_pass_for_the_question() {
    let hostile = "a\u{202e}b\n  9. files.delete\u{1b}[2J";
    let line = PlanSite {
        constants: vec![constant(hostile, &serde_json::to_string(hostile).unwrap())],
        open: vec![hostile.to_owned()],
        from: vec![PlanSource {
            tool: hostile.to_owned(),
            line: 1,
        }],
        ..site("slack", "post_message", EffectClass::Write, 2)
    };
    let text = shown(&asked(vec![line]));
    assert!(text.lines().all(is_clean), "{text}");
    assert!(!text.contains("\n  9."), "{text}");
    assert!(text.contains("Warning: "), "{text}");
}
