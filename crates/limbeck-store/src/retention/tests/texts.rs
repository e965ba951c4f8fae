//! What journals of executions that may have changed something lose before they are removed.

use limbeck_domain::{ExecutionLimits, Language, Mode, ProgramStart};

use super::*;

#[test]
fn an_execution_that_wrote_goes_by_age_alone_and_loses_the_results_of_its_reads_before() {
    let mut connection = database(&["completed"; 6]);
    connection
        .execute_batch(
            "UPDATE execution SET writes = 1 WHERE CAST(id AS INTEGER) < 4;
             INSERT INTO journal (execution, doubt, entry) SELECT row, 1, 'write' FROM execution;
             INSERT INTO journal (execution, outcome, entry) SELECT row, 1, 'written' FROM execution;
             INSERT INTO journal (execution, outcome, entry) SELECT row, 2, 'read' FROM execution;",
        )
        .unwrap();
    let tight = Retention {
        executions: 1,
        bytes: 1,
        writing: JournalBounds {
            reads: 20,
            ..BOUNDS
        },
        ..WIDE
    };
    while prune(&mut connection, &tight, 0, None).unwrap() {}
    let count = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM execution"), 5);
    assert_eq!(count("SELECT count(*) FROM execution WHERE writes = 1"), 4);
    assert_eq!(
        count("SELECT count(*) FROM journal WHERE entry = 'write'"),
        5
    );
    assert_eq!(
        count("SELECT count(*) FROM journal WHERE entry = 'written'"),
        5
    );
    assert!(count("SELECT count(*) FROM journal WHERE entry = 'read'") < 5);
    assert!(count("SELECT sum(thinned) FROM removed") > 0);
    let recent = Retention {
        age_us: 250,
        ..tight
    };
    while prune(&mut connection, &recent, 0, None).unwrap() {}
    let count = |sql: &str| -> i64 { connection.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM execution WHERE writes = 1"), 1);
}

#[test]
fn results_of_writes_go_after_those_of_reads_and_the_record_of_the_write_stays_for_its_month() {
    let mut connection = database(&["completed"; 4]);
    let outcome = |id: u32| {
        format!(
            r#"{{"outcome":{{"id":{id},"result":{{"Ok":"{}"}},"took_us":1}}}}"#,
            "x".repeat(10_000)
        )
    };
    for (outcome, id) in [(outcome(1), 1), (outcome(2), 2)] {
        connection
            .execute(
                "INSERT INTO journal (execution, outcome, entry) SELECT row, ?1, ?2 FROM execution",
                rusqlite::params![id, outcome],
            )
            .unwrap();
    }
    connection
        .execute_batch(
            "UPDATE execution SET writes = 1;
             INSERT INTO journal (execution, doubt, entry) SELECT row, 1, 'write' FROM execution;
             UPDATE execution SET bytes = 20000",
        )
        .unwrap();
    let count = |connection: &Connection, sql: &str| -> i64 {
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    };
    let whole = "SELECT count(*) FROM journal WHERE entry LIKE '{\"outcome\"%'";
    let cut = "SELECT count(*) FROM journal WHERE entry LIKE '{\"removed\"%'";
    // The oldest loses the results of its reads, and that is enough.
    let reads = Retention {
        writing: JournalBounds {
            reads: 60_000,
            ..BOUNDS
        },
        ..WIDE
    };
    while prune(&mut connection, &reads, 0, None).unwrap() {}
    assert_eq!((count(&connection, whole), count(&connection, cut)), (7, 0));
    assert_eq!(count(&connection, "SELECT max(thinned) FROM execution"), 1);
    // Everything that may go is gone, and what was written is still on record.
    let nothing = Retention {
        writing: JournalBounds {
            reads: 1,
            results: 1,
            arguments: 1_000_000,
            records: 1_000,
        },
        ..WIDE
    };
    while prune(&mut connection, &nothing, 0, None).unwrap() {}
    assert_eq!((count(&connection, whole), count(&connection, cut)), (0, 4));
    assert_eq!(count(&connection, "SELECT min(thinned) FROM execution"), 2);
    let written = "SELECT count(*) FROM journal WHERE entry = 'write'";
    assert_eq!(count(&connection, written), 4);
    let removed = removed::list(&connection).unwrap();
    assert_eq!((removed[0].executions, removed[0].thinned), (0, 4));
    assert!((70_000..80_000).contains(&removed[0].bytes), "{removed:?}");
    // Within its last bound the principal goes on; above it is named, until its records are a month old.
    assert!(full(&connection, &nothing).unwrap().is_empty());
    let less = Retention {
        writing: JournalBounds {
            records: 100,
            ..nothing.writing
        },
        ..nothing
    };
    let named = full(&connection, &less).unwrap();
    assert_eq!(named.len(), 1);
    assert!((100..1_000).contains(&named[""]), "{named:?}");
    while prune(&mut connection, &less, less.age_us + 150, None).unwrap() {}
    assert_eq!(count(&connection, written), 2);
    while prune(&mut connection, &less, less.age_us + 1_000, None).unwrap() {}
    assert_eq!(count(&connection, written), 0);
    assert!(full(&connection, &less).unwrap().is_empty());
}

#[test]
fn arguments_go_after_results_and_never_of_an_execution_that_runs_or_has_a_call_in_doubt() {
    let statuses = [
        "running",
        "needs_reconciliation",
        "cancelled",
        "completed",
        "failed",
        "completed",
    ];
    let mut connection = database(&statuses);
    let body = "x".repeat(10_000);
    let call = format!(
        r#"{{"call":{{"call":{{"id":1,"op":"tool","head":"{{}}","body":"{body}"}},"effect":"write","sent":true}}}}"#
    );
    connection
        .execute(
            "INSERT INTO journal (execution, doubt, entry) SELECT row, 1, ?1 FROM execution",
            [&call],
        )
        .unwrap();
    // The call of the cancelled one has no outcome.
    connection
        .execute_batch(
            "UPDATE execution SET writes = 1, bytes = 10100;
             INSERT INTO journal (execution, outcome, entry)
                 SELECT row, 1, '{}' FROM execution WHERE status <> 'cancelled'",
        )
        .unwrap();
    let whole = |connection: &Connection| -> Vec<i64> {
        connection
            .prepare(
                "SELECT CAST(id AS INTEGER) FROM execution JOIN journal ON execution = execution.row
                 WHERE octet_length(entry) > 10000 ORDER BY id",
            )
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<rusqlite::Result<_>>()
            .unwrap()
    };
    // All results may go, and the newest two executions keep their arguments.
    let two = Retention {
        writing: JournalBounds {
            reads: 1,
            results: 1,
            arguments: 25_000,
            ..BOUNDS
        },
        ..WIDE
    };
    while prune(&mut connection, &two, 0, None).unwrap() {}
    assert_eq!(whole(&connection), [0, 1, 2, 4, 5]);
    // The control for results: they go at a lower bound than arguments.
    let thinned: Vec<i64> = connection
        .prepare("SELECT thinned FROM execution ORDER BY row")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<rusqlite::Result<_>>()
        .unwrap();
    assert_eq!(thinned, [0, 2, 3, 3, 2, 2]);
    let none = Retention {
        writing: JournalBounds {
            arguments: 1,
            ..two.writing
        },
        ..WIDE
    };
    while prune(&mut connection, &none, 0, None).unwrap() {}
    assert_eq!(whole(&connection), [0, 1, 2]);
    let removed = removed::list(&connection).unwrap();
    assert_eq!((removed[0].executions, removed[0].thinned), (0, 5));
    assert!((29_000..30_000).contains(&removed[0].bytes), "{removed:?}");
}

#[test]
fn the_input_of_a_direct_call_goes_with_its_arguments_and_another_input_stays() {
    let mut connection = database(&["completed"; 2]);
    let body = "x".repeat(10_000);
    let call = format!(
        r#"{{"call":{{"call":{{"id":1,"op":"tool","head":"{{}}","body":"{body}"}},"effect":"write","sent":true}}}}"#
    );
    connection
        .execute(
            "INSERT INTO journal (execution, doubt, entry) SELECT row, 1, ?1 FROM execution",
            [&call],
        )
        .unwrap();
    let start = |input: &str| {
        serde_json::to_string(&ProgramStart {
            language: Language::Typescript,
            program: "return 1".to_owned(),
            input: input.to_owned(),
            servers: "[]".to_owned(),
            seed: [7; 32],
            now_us: 1,
            limits: ExecutionLimits::default(),
            mode: Mode::Run,
            scope: None,
            asks_by_plan: false,
            llm: limbeck_domain::ModelTerms::default(),
            abi: 0,
            release: String::new(),
        })
        .unwrap()
    };
    let other = "y".repeat(10_000);
    for (id, input) in [("0", &body), ("1", &other)] {
        connection
            .execute(
                "UPDATE start SET start = ?2 WHERE execution = (SELECT row FROM execution WHERE id = ?1)",
                rusqlite::params![id, start(input)],
            )
            .unwrap();
    }
    connection
        .execute_batch(
            "UPDATE execution SET writes = 1, bytes = 20000;
             INSERT INTO journal (execution, outcome, entry) SELECT row, 1, '{}' FROM execution",
        )
        .unwrap();
    let nothing = Retention {
        writing: JournalBounds {
            reads: 1,
            results: 1,
            arguments: 1,
            ..BOUNDS
        },
        ..WIDE
    };
    while prune(&mut connection, &nothing, 0, None).unwrap() {}
    let left = |id: &str| -> String {
        connection
            .query_row(
                "SELECT start FROM start JOIN execution ON execution.row = start.execution WHERE id = ?1",
                [id],
                |row| row.get(0),
            )
            .unwrap()
    };
    assert_eq!(left("0"), start("null"));
    assert_eq!(left("1"), start(&other));
}
