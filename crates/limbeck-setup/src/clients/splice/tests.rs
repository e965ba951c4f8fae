//! Random documents: a change means what was intended, touches no other byte, and can be reversed.

use super::super::table::{EntryForm, Form};
use super::super::verify::is_as_intended;
use super::{Change, changed, entry_texts, own_entry};

const JSON: Form = Form::Json(&[&["mcpServers"]], EntryForm::Standard(&[]));

/// A generator of numbers that is the same at every run (Marsaglia's xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one_of<'w>(&mut self, words: &[&'w str]) -> &'w str {
        words[usize::try_from(self.below(words.len() as u64)).unwrap()]
    }
}

fn space(numbers: &mut Numbers) -> &'static str {
    numbers.one_of(&[
        "",
        " ",
        "\n",
        "\r\n\t",
        "  ",
        "/* , } */",
        " // {\"\n",
        "\n\n    ",
    ])
}

fn json(numbers: &mut Numbers) -> String {
    let mut text = String::from(numbers.one_of(&["", "// top\n", "\n"]));
    text.push('{');
    text.push_str(space(numbers));
    if numbers.below(2) == 0 {
        text.push_str("\"first\": [1.0, \"}\"],");
    }
    text.push_str("\"mcpServers\"");
    text.push_str(space(numbers));
    text.push_str(":{");
    let count = numbers.below(5);
    for index in 0..count {
        text.push_str(space(numbers));
        text.push_str(&format!("\"s{index}\":"));
        text.push_str(space(numbers));
        text.push_str(numbers.one_of(&[
            "{\"command\": \"a\"}",
            "{\"command\":\"\\\"}\",\n\"n\": 12345678901234567890}",
            "{ /* x */ }",
        ]));
        text.push_str(space(numbers));
        if index + 1 < count || numbers.below(3) == 0 {
            text.push(',');
        }
    }
    text.push_str(space(numbers));
    text.push('}');
    text.push_str(numbers.one_of(&["", ",\"last\": 0.10", ", // end\n"]));
    text.push_str(space(numbers));
    text.push('}');
    text.push_str(numbers.one_of(&["", "\n", "\r\n// behind"]));
    text
}

fn toml(numbers: &mut Numbers) -> String {
    let mut text =
        String::from(numbers.one_of(&["", "# top\n", "a = '''\n[mcp_servers.x]\n'''\n"]));
    for index in 0..numbers.below(5) {
        text.push_str(
            numbers
                .one_of(&["", "# [mcp_servers.c]\n", "\n", "[other]\nx = 1\n", "\r\n"])
                .replace("[other]", &format!("[other{index}]"))
                .as_str(),
        );
        text.push_str(&format!(
            "[mcp_servers.s{index}]{}\n",
            numbers.one_of(&["", " # why", "\r"])
        ));
        text.push_str(numbers.one_of(&["", "command = 'a'\n", "args = [\n '#', # x\n]\n"]));
        if numbers.below(3) == 0 {
            text.push_str(&format!("[mcp_servers.s{index}.env]\nA = \"[\\\"\"\n"));
        }
    }
    text + numbers.one_of(&["", "[end]\ny = 0x1", "# end"])
}

fn check(text: &str, form: Form, numbers: &mut Numbers) {
    let entries = entry_texts(text, form).unwrap();
    let ours = own_entry(form, "limbeck", &["serve"]);
    let is_chosen: Vec<bool> = entries.iter().map(|_| numbers.below(2) == 0).collect();
    let chosen: Vec<&(String, String)> = entries
        .iter()
        .zip(&is_chosen)
        .filter_map(|(entry, is)| is.then_some(entry))
        .collect();
    let change = Change {
        removed: chosen.iter().map(|(name, _)| name.as_str()).collect(),
        added: vec![("limbeck", ours)],
    };
    let after = changed(text, form, &change).unwrap();
    is_as_intended(text, &after, form, &change).unwrap_or_else(|problem| {
        panic!("{problem}\n--- before\n{text}\n--- after\n{after}");
    });
    for comment in ["// top", "// behind", "# top", "# end", "# [mcp_servers.c]"] {
        let count = |text: &str| text.matches(comment).count();
        assert_eq!(count(&after), count(text), "{text}\n---\n{after}");
    }
    if !text.contains('\r') {
        assert!(!after.contains('\r'), "{text}");
    }
    let back = Change {
        removed: vec!["limbeck"],
        added: chosen
            .iter()
            .map(|(name, text)| (name.as_str(), text.clone()))
            .collect(),
    };
    let again = changed(&after, form, &back).unwrap();
    is_as_intended(&after, &again, form, &back).unwrap_or_else(|problem| {
        panic!("{problem}\n--- before\n{after}\n--- after\n{again}");
    });
    let mut names: Vec<String> = entry_texts(&again, form)
        .unwrap()
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    let mut expected: Vec<String> = entries.iter().map(|(name, _)| name.clone()).collect();
    names.sort();
    expected.sort();
    assert_eq!(names, expected, "{text}\n---\n{again}");
}

#[test]
fn random_documents_are_changed_as_intended_and_back() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2_000 {
        check(&json(&mut numbers), JSON, &mut numbers);
        check(&toml(&mut numbers), Form::Codex, &mut numbers);
    }
}
