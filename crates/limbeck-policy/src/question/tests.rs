use std::collections::HashSet;

use super::*;
use crate::rules::{Channel, Channels, Effect, Layer, Preset, Remember, Rule, RuleSet};
use crate::{Classes, Policy, Scope, decide};

fn call(arguments: &str) -> ToolCall {
    ToolCall {
        tool: ToolId::new("mail", "send"),
        arguments: CompactArguments::parse(arguments).unwrap().0,
        effect: EffectClass::Write,
    }
}

fn policy(effect: Option<Effect>, preset: Preset, class: Option<EffectClass>) -> Policy {
    let rule = |effect| Rule {
        id: "mail".to_owned(),
        effect,
        tools: Scope::parse(["mail.*"]).unwrap(),
        except: None,
        classes: None,
        arguments: Vec::new(),
        who: None,
        reason: Some("mail leaves the company".to_owned()),
        ask: None,
        layer: Layer::User,
        is_default: false,
        origin: "limbeck.toml:1".to_owned(),
    };
    let scope = Scope::parse(["mail.send"]).unwrap();
    let classes = class.into_iter().map(|class| (scope.clone(), class));
    Policy {
        rules: RuleSet::new(effect.map(rule).into_iter().collect(), &[], preset).unwrap(),
        classes: Classes::new(classes.collect(), HashSet::new()).unwrap(),
        ..Policy::default()
    }
}

fn decided(
    policy: &Policy,
    call: ToolCall,
    ticket: Option<&Ticket>,
    pin: Option<&str>,
) -> Answered {
    let facts = Facts {
        scope: &Scope::everything(),
        policy,
        who: &[],
        now_us: 0,
    };
    let decided = match ticket {
        Some(ticket) => decide_with_ticket(call, &facts, ticket, pin),
        None => decide_or_ask(call, &facts),
    };
    match decided {
        Ok(Decided::Permit(permit)) => Answered::Sent(permit.spend()),
        Ok(Decided::Ask(question)) => Answered::Asked(question),
        Err(denied) => Answered::Denied(denied),
    }
}

#[derive(Debug)]
enum Answered {
    Sent(ToolCall),
    Asked(Box<Question>),
    Denied(Denied),
}

impl Answered {
    fn question(self) -> Box<Question> {
        match self {
            Self::Asked(question) => question,
            Self::Sent(_) | Self::Denied(_) => panic!("{self:?}"),
        }
    }
}

#[test]
fn a_rule_that_asks_gives_a_question_with_the_bytes_that_will_be_sent() {
    let asking = policy(Some(Effect::Ask), Preset::Observe, None);
    let text = r#"{ "to": "a@x.org", "amount": 9007199254740993 }"#;
    let question = decided(&asking, call(text), None, None).question();
    assert_eq!(
        *question.arguments(),
        r#"{"to":"a@x.org","amount":9007199254740993}"#
    );
    assert_eq!(*question.tool(), ToolId::new("mail", "send"));
    assert_eq!(question.unit(), AskUnit::Call);
    assert_eq!(question.options(), &AskOptions::default());
    assert!(matches!(question.cause(), DenialCause::Rule { id, .. } if id == "mail"));
    // A caller that cannot ask gets the same refusal in either way.
    let facts = Facts {
        scope: &Scope::everything(),
        policy: &asking,
        who: &[],
        now_us: 0,
    };
    let refused = decide(call(text), &facts).unwrap_err();
    assert_eq!(question.into_denied(), refused);
    assert!(matches!(&refused, Denied::ByPolicy(denial) if denial.needs_approval));
}

#[test]
fn a_preset_asks_as_its_table_says() {
    let of = |preset, class| {
        let question = decided(&policy(None, preset, Some(class)), call("{}"), None, None);
        let question = question.question();
        (question.unit(), question.options().clone())
    };
    let (unit, options) = of(Preset::Balanced, EffectClass::Write);
    let balanced = AskOptions {
        remember: Remember::Always,
        ..AskOptions::default()
    };
    assert_eq!((unit, options), (AskUnit::Program, balanced));
    let (unit, _) = of(Preset::Balanced, EffectClass::Destructive);
    assert_eq!(unit, AskUnit::Call);
    let (unit, options) = of(Preset::Strict, EffectClass::Destructive);
    assert_eq!(unit, AskUnit::Call);
    assert_eq!(options.channels, Some(Channels::of([Channel::Browser])));
    assert!(options.not_requester);
}

#[test]
fn a_ticket_is_for_one_tool_its_bytes_its_pin_and_its_class() {
    let asking = policy(Some(Effect::Ask), Preset::Observe, None);
    let text = r#"{"amount":9007199254740993}"#;
    let ticket = decided(&asking, call(text), None, None)
        .question()
        .ticket(Some("p1"));
    let with = |policy: &Policy, call, pin| decided(policy, call, Some(&ticket), pin);
    assert!(matches!(
        with(&asking, call(text), Some("p1")),
        Answered::Sent(sent) if sent == call(text)
    ));
    // 2^53 + 1 is not 2^53, a changed definition is another, and so is another tool.
    let other_tool = ToolCall {
        tool: ToolId::new("mail", "send_all"),
        ..call(text)
    };
    for (call, pin) in [
        (call(r#"{"amount":9007199254740992}"#), Some("p1")),
        (call(text), Some("p2")),
        (call(text), None),
        (other_tool, Some("p1")),
    ] {
        assert!(matches!(with(&asking, call, pin), Answered::Asked(_)));
    }
    let destructive = policy(
        Some(Effect::Ask),
        Preset::Observe,
        Some(EffectClass::Destructive),
    );
    let again = with(&destructive, call(text), Some("p1")).question();
    assert_eq!(again.class().class, EffectClass::Destructive);
}

#[test]
fn a_ticket_never_overrides_a_denial_and_is_not_needed_where_the_policy_allows_now() {
    let asking = policy(Some(Effect::Ask), Preset::Observe, None);
    let ticket = decided(&asking, call("{}"), None, None)
        .question()
        .ticket(None);
    let denying = policy(Some(Effect::Deny), Preset::Observe, None);
    let denied = decided(&denying, call("{}"), Some(&ticket), None);
    assert!(matches!(denied, Answered::Denied(Denied::ByPolicy(denial)) if !denial.needs_approval));
    let facts = Facts {
        scope: &Scope::parse(["crm"]).unwrap(),
        policy: &asking,
        who: &[],
        now_us: 0,
    };
    let outside = decide_with_ticket(call("{}"), &facts, &ticket, None);
    assert!(matches!(outside, Err(Denied::OutOfScope { .. })));
    let allowing = policy(Some(Effect::Allow), Preset::Observe, None);
    let other = call(r#"{"x":1}"#);
    let allowed = decided(&allowing, other, Some(&ticket), None);
    assert!(matches!(allowed, Answered::Sent(_)));
}

#[test]
fn a_repeat_is_asked_about_where_balanced_allows_the_call_and_no_rule_does() {
    let asked = |effect, preset| {
        let policy = policy(effect, preset, Some(EffectClass::Read));
        let scope = Scope::everything();
        let facts = Facts {
            scope: &scope,
            policy: &policy,
            who: &[],
            now_us: 0,
        };
        let permit = decide(call("{}"), &facts).unwrap();
        ask_about_repeat(&permit, &facts).map(|question| question.is_repeat())
    };
    assert_eq!(asked(None, Preset::Balanced), Some(true));
    assert_eq!(asked(Some(Effect::Allow), Preset::Balanced), None);
    for preset in [Preset::Observe, Preset::Strict, Preset::Readonly] {
        assert_eq!(asked(None, preset), None, "{preset}");
    }
}
