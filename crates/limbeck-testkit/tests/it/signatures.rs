//! Size of signatures: a model reads at most a third of the tokens of the schemas that they replace.

#![allow(clippy::print_stdout, reason = "the table is what is reported")]

use limbeck_captures::captures;
use limbeck_catalog::{Detail, Tool};
use limbeck_domain::Language;
use limbeck_gateway::tokens::count;
use serde_json::json;

/// Tokens of the tools of one server, or of all.
#[derive(Clone, Copy, Default)]
struct Cost {
    /// One-line signatures.
    signatures: usize,
    /// Input and output schemas as compact JSON.
    schemas: usize,
    /// Signatures with the first sentence of each description: what `search` answers.
    answers: usize,
    /// Name, description and schemas: what a listing would hold.
    definitions: usize,
}

impl Cost {
    fn add(&mut self, other: Self) {
        self.signatures += other.signatures;
        self.schemas += other.schemas;
        self.answers += other.answers;
        self.definitions += other.definitions;
    }

    fn print(&self, server: &str) {
        let share = |part: usize, whole: usize| part as f64 / whole as f64;
        println!(
            "{server:24} {:7} of {:7} {:.2}   {:7} of {:7} {:.2}",
            self.signatures,
            self.schemas,
            share(self.signatures, self.schemas),
            self.answers,
            self.definitions,
            share(self.answers, self.definitions),
        );
    }
}

fn cost(tool: &Tool) -> Cost {
    let definition = tool.definition();
    let (input, output) = (&definition.input_schema, &definition.output_schema);
    let mut listed = json!({
        "name": tool.id().tool,
        "description": definition.description,
        "inputSchema": input,
    });
    let mut schemas = count(&input.to_string());
    if let Some(output) = output {
        listed["outputSchema"] = output.clone();
        schemas += count(&output.to_string());
    }
    Cost {
        signatures: count(tool.signature(Language::Typescript)),
        schemas,
        answers: count(&tool.declaration(Detail::Signature, Language::Typescript)),
        definitions: count(&listed.to_string()),
    }
}

#[test]
fn signatures_of_all_catalogs_cost_at_most_a_third_of_their_schemas() {
    let mut total = Cost::default();
    println!(
        "{:24} signatures of schemas        answers of definitions",
        "server"
    );
    for capture in captures() {
        let mut server = Cost::default();
        for definition in capture.definitions() {
            server.add(cost(&Tool::new(definition)));
        }
        server.print(&capture.server);
        total.add(server);
    }
    total.print("all");

    assert!(total.signatures * 3 <= total.schemas);
    assert!(total.answers * 3 <= total.definitions);
}
