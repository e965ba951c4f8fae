//! Programs that Python accepts or refuses, and texts made to exhaust the parser.

use std::time::{Duration, Instant};

use super::*;

/// Programs that Python refuses, each with one that differs in little and that it accepts;
/// `tests/engine/python_syntax.rs` has the guest say the same.
#[test]
fn programs_that_python_refuses_are_told_from_those_it_accepts() {
    for pair in include_str!("refused.txt").split("\n====\n") {
        let (refused, accepted) = pair.split_once("\n----\n").expect("each is a pair");
        assert_eq!(sites(refused, SERVERS), None, "{refused}");
        assert!(sites(accepted, SERVERS).is_some(), "{accepted}");
    }
    assert_eq!(sites("x = '\0'", SERVERS), None);
}

#[test]
fn nesting_beyond_what_python_reads_is_left_to_it() {
    let nested = |levels: usize| format!("{}{}", "(".repeat(levels), ")".repeat(levels));
    assert!(sites(&nested(199), SERVERS).is_some());
    assert_eq!(sites(&nested(201), SERVERS), None);
    let indented = |levels: usize| {
        let blocks = (0..levels).map(|level| format!("{}if x:\n", " ".repeat(level)));
        blocks.collect::<String>() + &" ".repeat(levels) + "y"
    };
    assert!(sites(&indented(90), SERVERS).is_some());
    assert_eq!(sites(&indented(101), SERVERS), None);
}

/// Every unit is repeated until the text has the largest size.
#[test]
fn the_largest_texts_are_read_in_time_and_fit_the_stack() {
    let units = [
        "not ",
        "-",
        "await ",
        "lambda: ",
        "a if b else ",
        "a**",
        "a.b.",
        "a()",
        "a().b",
        "a+",
        "a=",
        "a,",
        "a or ",
        "a<",
        "*a,",
        "a[0]",
        "f'{a}'",
        "'a' ",
        "b=a;",
        "await a();",
        "x.append(",
        "[a]=",
        "a:=",
        "yield ",
        "@a\n",
        "if a:b\n",
        "def f(): return f()\n",
        "tools.s.t()\n",
        "a = tools.s.t()\n",
        "s = tools.s\ns.t(a=1)\n",
        "global a\n",
        "match a:\n case b: c\n",
        "del a\n",
        "for a in b: c\n",
        "with a: b\n",
        "class A: pass\n",
        "{**",
        "[",
    ];
    let mut texts = Vec::new();
    for unit in units {
        for (before, after) in [("", "a"), ("async def f():\n a=", "a\n tools.s.t()")] {
            let room = PROGRAM_BYTES_MAX - before.len() - after.len();
            texts.push(format!("{before}{}{after}", unit.repeat(room / unit.len())));
        }
    }
    let chain = |from: usize, to: usize, n: usize| format!("a{}=a{}\n", n + from, n + to);
    texts.push(
        "a0=tools.s.t()\n".to_owned() + &(0..18_000).map(|n| chain(1, 0, n)).collect::<String>(),
    );
    texts.push((0..18_000).map(|n| chain(0, 1, n)).collect::<String>() + "a18000=tools.s.t()\n");
    // Each function calls the next so often that no one can count how often the last is called.
    let functions =
        (0..1_500).map(|n| format!("def f{n}():\n{}", format!("    f{}()\n", n + 1).repeat(8)));
    texts.push(
        functions.collect::<String>()
            + "def f1500():\n    tools.s.t()\ntry:\n    f0()\nexcept ToolError: 0\n",
    );
    texts.push(format!(
        "{}b{}\nasync def f():\n tools.s.t()['a']\n",
        "a=".repeat(60_000),
        ".c".repeat(60_000)
    ));

    std::thread::scope(|scope| {
        let read = std::thread::Builder::new()
            .stack_size(PARSER_STACK_BYTES)
            .spawn_scoped(scope, || {
                for text in &texts {
                    let started = Instant::now();
                    let _ = sites(text, SERVERS);
                    // A tenth of this is usual; what grows with the square of the size takes minutes.
                    assert!(
                        started.elapsed() < Duration::from_secs(60),
                        "{}",
                        &text[..60]
                    );
                }
            });
        read.unwrap().join().unwrap();
    });
    let last = texts
        .iter()
        .find(|text| text.contains("def f1500"))
        .unwrap();
    let site = &sites(last, SERVERS).unwrap().sites[0];
    assert_eq!(
        (site.guarded, site.repeat),
        (true, Repeat::AtMost(u32::MAX))
    );
}
