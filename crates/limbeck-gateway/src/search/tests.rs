use super::*;

fn hit(server: &str, tool: &str) -> HitReport {
    HitReport {
        server: server.to_owned(),
        tool: tool.to_owned(),
        call: format!("tools.{server}.{tool}"),
        signature: format!("tools.{server}.{tool}()"),
        description: "Does it.".to_owned(),
        declaration: None,
        effect: EffectClass::Read,
        policy: None,
        score: 1.0,
    }
}

fn query(text: &str, tools: Vec<HitReport>, total: usize) -> QueryReport {
    QueryReport {
        query: text.to_owned(),
        tools,
        total,
        from: 0,
        nearest: Vec::new(),
    }
}

fn report(queries: Vec<QueryReport>) -> SearchReport {
    SearchReport {
        skills: Vec::new(),
        queries,
        cursor: None,
        starting: Vec::new(),
        unavailable: Vec::new(),
        incomplete: Vec::new(),
        listed_directly: Vec::new(),
        notices: Vec::new(),
        servers: 1,
        detail: Detail::Signature,
        language: Language::Typescript,
        fingerprint: Fingerprint::of(&Catalog::default(), &SearchRequest::default(), None),
    }
}

#[test]
fn remarks_are_comments_of_the_language_asked_for() {
    for (language, remark) in [
        (Language::Typescript, "// read · Does it.\n"),
        (Language::Python, "# read · Does it.\n"),
    ] {
        let mut report = report(vec![query("file", vec![hit("files", "get")], 1)]);
        report.language = language;
        assert_eq!(report.text(), format!("{remark}tools.files.get()\n"));
    }
}

#[test]
fn what_the_policy_says_about_a_tool_is_beside_its_effect_and_counts_as_its_text() {
    let noted = HitReport {
        policy: Some("asks a person first (rule mail-outside)".to_owned()),
        declaration: Some("/** Does it. */".to_owned()),
        ..hit("mail", "send")
    };
    let mut report = report(vec![query("mail", vec![noted, hit("mail", "list")], 2)]);
    let remark = "// read · asks a person first (rule mail-outside)";
    assert_eq!(
        report.text(),
        format!("{remark} · Does it.\ntools.mail.send()\n// read · Does it.\ntools.mail.list()\n")
    );
    report.detail = Detail::Full;
    let full = report.text();
    assert!(
        full.starts_with(&format!("{remark}\n/** Does it. */\n")),
        "{full}"
    );
    report.detail = Detail::Brief;
    let brief = report.text();
    assert!(
        brief.starts_with(&format!("tools.mail.send {remark} · Does it.\n")),
        "{brief}"
    );
}

#[test]
fn tools_of_one_server_stand_together_and_a_tool_found_twice_is_printed_once() {
    let first = vec![hit("a", "x"), hit("b", "y"), hit("a", "z")];
    let second = vec![hit("b", "y"), hit("b", "w")];
    let report = report(vec![query("one", first, 3), query("two", second, 2)]);
    let block = |call: &str| format!("// read · Does it.\n{call}()\n");
    let expected = [
        "## one\n".to_owned(),
        block("tools.a.x"),
        block("tools.a.z"),
        block("tools.b.y"),
        "## two\n".to_owned(),
        block("tools.b.w"),
        "// shown above: tools.b.y\n".to_owned(),
    ];
    assert_eq!(report.text(), expected.concat());
}

#[test]
fn an_answer_over_its_budget_keeps_the_best_of_every_query_and_leads_on_to_the_rest() {
    let long = |server: &str| {
        let mut tools: Vec<HitReport> = (0..50).map(|n| hit(server, &format!("tool{n}"))).collect();
        for tool in &mut tools {
            tool.signature = format!("{}({})", tool.call, "path: string, ".repeat(60));
        }
        tools
    };
    let mut report = report(vec![
        query("one", long("a"), 80),
        query("two", long("b"), 50),
    ]);
    let text = report.text();
    assert!(crate::tokens::count(&text) < 4_200, "{text}");
    for expected in [
        "tools.a.tool0(",
        "tools.b.tool0(",
        " of 80 shown)",
        " of 50 shown)",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let cursor = text.split('"').nth(1).unwrap();
    let shown = report.fingerprint.read(cursor, 2).unwrap();
    let lines_of = |server: &str| text.matches(&format!("\ntools.{server}.")).count();
    assert_eq!(shown, [lines_of("a"), lines_of("b")]);

    // A signature that fills the answer alone takes no other query's best tool away.
    report.queries[0].tools[0].signature = "path: string, ".repeat(2_000);
    let text = report.text();
    assert!(
        text.contains("tools.a.tool0 // read") && text.contains("tools.b.tool0("),
        "{text}"
    );
}

#[test]
fn a_cursor_is_taken_for_its_own_search_alone() {
    let request = |query: &str| SearchRequest {
        queries: vec![query.to_owned()],
        ..SearchRequest::default()
    };
    let catalog = Catalog::default();
    let fingerprint = Fingerprint::of(&catalog, &request("a"), None);
    let cursor = fingerprint.cursor([5].into_iter());
    assert_eq!(fingerprint.read(&cursor, 1).unwrap(), [5]);

    let other_tools = format!("00000000{}", &cursor[8..]);
    let long = "0".repeat(10_000);
    for (cursor, said) in [
        ("", "unknown `cursor`"),
        ("garbage", "unknown `cursor`"),
        (&format!("{cursor}x"), "unknown `cursor`"),
        (&format!("{cursor}-"), "unknown `cursor`"),
        (&long, "unknown `cursor`"),
        ("é234567é12345678-1", "unknown `cursor`"),
        (&format!("{cursor}-5"), "another search"),
        (&other_tools, "the tools or their ranking changed"),
    ] {
        let error = fingerprint.read(cursor, 1).unwrap_err();
        assert!(error.message.contains(said), "{cursor}: {error:?}");
        assert_eq!(error.hint.as_deref(), Some("search again without `cursor`"));
    }
    let other = Fingerprint::of(&catalog, &request("b"), None);
    let error = other.read(&cursor, 1).unwrap_err();
    assert!(error.message.contains("another search"), "{error:?}");
}

#[test]
fn what_is_cut_off_is_behind_the_cursor_and_a_query_that_matches_nothing_says_so() {
    let tools = [
        ("read_file", "Read the complete contents of a file"),
        ("write_file", "Create a new file or overwrite one"),
        ("list_directory", "List files and folders in a directory"),
        ("get_sum", "Returns the sum of two numbers"),
    ];
    let definitions = tools.map(|(name, description)| limbeck_domain::ToolDefinition {
        id: limbeck_domain::ToolId::new("files", name),
        title: None,
        description: Some(description.to_owned()),
        input_schema: serde_json::json!({"type": "object"}),
        output_schema: None,
        annotations: Default::default(),
    });
    let list = limbeck_catalog::ServerTools::new("files".into(), definitions.into(), None);
    let catalog = SearchableCatalog::new(Catalog::new(vec![list]).into());
    let request = SearchRequest::default();
    let page = |query: &str, from: usize| query_report(&catalog, &request, query, from, None);

    let first = page("read a file", 0);
    assert_eq!(first.tools[0].tool, "read_file");
    assert!(first.tools.len() < first.total, "{first:?}");
    let behind = page("read a file", first.tools.len());
    assert_eq!(first.tools.len() + behind.tools.len(), first.total);
    let again = |hit: &HitReport| first.tools.iter().any(|other| other.call == hit.call);
    assert!(!behind.tools.iter().any(again), "{behind:?}");

    let nothing = page("send an email", 0);
    assert_eq!((nothing.tools.len(), nothing.total), (0, 0));
    let text = report(vec![nothing]).text();
    assert!(
        text.starts_with("Nothing matches `send an email`.\nNearest: tools.files."),
        "{text}"
    );
}

#[test]
fn servers_that_are_not_searched_are_one_line_of_a_bounded_number() {
    let mut report = report(vec![query("file", vec![hit("files", "get")], 1)]);
    assert!(!report.text().contains("Not a"), "{}", report.text());
    report.unavailable = (0..6).map(|n| format!("s{n}: it ended")).collect();
    report.incomplete = vec!["many: 2000 tools are known".to_owned()];
    let text = report.text();
    assert!(
        text.ends_with(
            "Not available: s0: it ended; s1: it ended; s2: it ended; s3: it ended; and 2 more\n\
             Not all tools can be searched: many: 2000 tools are known\n"
        ),
        "{text}"
    );
}
