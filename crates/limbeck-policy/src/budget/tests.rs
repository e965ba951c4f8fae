use super::*;

fn budget(id: &str, tools: &[&str], bound: Bound) -> Budget {
    Budget {
        id: id.to_owned(),
        tools: match tools {
            [] => Scope::everything(),
            tools => Scope::parse(tools).unwrap(),
        },
        except: None,
        classes: None,
        who: None,
        each: vec![Dimension::Principal],
        bound,
        on_exceed: OnExceed::Deny,
        reason: None,
        layer: Layer::User,
        counter: id.to_owned(),
        origin: "limbeck.toml:1".to_owned(),
    }
}

fn total(per: Period, unit: Unit, limit: u64) -> Bound {
    Bound::Total {
        per,
        limits: vec![(unit, limit)],
    }
}

fn ids(budgets: &Budgets, tool: (&str, &str), who: &[&str]) -> Vec<String> {
    let tool = ToolId::new(tool.0, tool.1);
    let about = budgets.about(&tool, EffectClass::Write, who);
    about.iter().map(|budget| budget.id.clone()).collect()
}

#[test]
fn every_budget_that_is_about_a_call_counts_whichever_file_it_is_from() {
    let calls = || total(Period::Day, Unit::Calls, 10);
    let all = budget("all", &[], calls());
    let mail = budget("mail", &["mail.*"], calls());
    let other = budget("other", &["shop"], calls());
    let reads = Budget {
        classes: Some(vec![EffectClass::Read]),
        ..budget("reads", &[], calls())
    };
    let drafts = Budget {
        except: Some(Scope::parse(["mail.draft"]).unwrap()),
        ..budget("no-drafts", &["mail"], calls())
    };
    let anna = Budget {
        who: Some(vec!["user:anna".to_owned()]),
        layer: Layer::Project,
        ..budget("anna", &[], calls())
    };
    let budgets = Budgets::new(vec![all, mail, other, reads, drafts, anna]).unwrap();
    let about = |tool, who: &[&str]| ids(&budgets, ("mail", tool), who);
    assert_eq!(
        about("send", &["user:anna"]),
        ["all", "mail", "no-drafts", "anna"]
    );
    assert_eq!(about("draft", &["user:ben"]), ["all", "mail"]);
}

#[test]
fn a_counter_is_named_by_what_is_counted_apart() {
    let tool = ToolId::new("mail", "send");
    let call = Some((&tool, EffectClass::Write));
    let of = |each: &[Dimension], call| {
        let each = each.to_vec();
        let budget = Budget {
            each,
            ..budget("b", &[], total(Period::Day, Unit::Calls, 1))
        };
        budget.subject("anna", call)
    };
    assert_eq!(of(&[], call), "{}");
    // In one order, however the file lists them.
    let each = [Dimension::Class, Dimension::Tool, Dimension::Principal];
    let subject = r#"{"principal":"anna","tool":"mail.send","class":"write"}"#;
    assert_eq!(of(&each, call), subject);
    assert_eq!(
        of(&[Dimension::Server, Dimension::Principal], None),
        r#"{"principal":"anna"}"#
    );
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let problem = |budget: Budget| budget.check().unwrap_err().to_string();
    let calls = || total(Period::Day, Unit::Calls, 1);
    let queue = Budget {
        on_exceed: OnExceed::Queue,
        ..budget("q", &[], calls())
    };
    assert!(problem(queue).contains("for rates"));
    let cpu = budget("c", &["mail"], total(Period::Day, Unit::Cpu, 1));
    assert!(problem(cpu).contains("whole run"));
    let ask = Budget {
        on_exceed: OnExceed::Ask,
        ..budget("a", &[], total(Period::Day, Unit::Tokens, 1))
    };
    assert!(problem(ask).contains("for calls"));
    let rate = Bound::Rate(Rate {
        calls: 0,
        per_s: 60,
        burst: 1,
    });
    assert!(problem(budget("r", &[], rate)).contains("out of bounds"));
    assert_eq!(
        budget("a:b", &[], calls()).check(),
        Err(BudgetError::InvalidId)
    );
    let twice = Budgets::new(vec![budget("b", &[], calls()), budget("b", &[], calls())]);
    assert!(matches!(twice, Err(BudgetError::DuplicateId { .. })));
    // The control.
    Budgets::new(vec![budget("b", &[], calls())]).unwrap();
}

#[test]
fn a_budget_says_what_it_allows() {
    let per_minute = Bound::Rate(Rate {
        calls: 60,
        per_s: 60,
        burst: 5,
    });
    assert_eq!(budget("r", &[], per_minute).phrase(), "60 calls a minute");
    let day = total(Period::Day, Unit::Writes, 1);
    assert_eq!(budget("w", &[], day).phrase(), "1 write a day");
}
