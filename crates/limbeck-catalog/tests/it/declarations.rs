//! Declaration files have a bounded size, and quote hostile names and texts.
//!
//! `checkers.rs` tests that type checkers accept them, over every captured list.

use crate::common::{catalog, server};
use limbeck_catalog::{Catalog, ServerTools, declarations};
use limbeck_domain::{Language, ServerName};
use serde_json::json;

fn render(catalog: &Catalog, language: Language) -> Vec<(String, String)> {
    let servers: Vec<&ServerTools> = catalog.servers().collect();
    declarations::render(&servers, language)
}

fn only(list: serde_json::Value) -> Catalog {
    Catalog::new(vec![server("my-server", &list.to_string())])
}

fn sample() -> Catalog {
    only(json!({"instructions": "Does things. And more.", "tools": [
        {
            "name": "create", "title": "Create", "description": "Creates a thing.\nSlowly.",
            "inputSchema": {"type": "object", "properties": {
                "name": {"type": "string", "description": "Its name."},
                "parts": {"type": "array", "items": {"type": "object", "properties": {"a-b": {"type": "integer"}}}}
            }, "required": ["name"]},
            "outputSchema": {"type": "object", "properties": {"id": {"type": "integer"}, "items": {"type": "array"}, "owner": {"type": "object", "properties": {"login": {"type": "string"}}}}, "required": ["id"]}
        },
        {"name": "odd-name", "inputSchema": {"type": "object", "properties": {}}}
    ]}))
}

#[test]
fn a_server_becomes_a_module_of_stubs() {
    let files = render(&sample(), Language::Python);
    let paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "limbeck_types/__init__.pyi",
            "limbeck_types/_limbeck.pyi",
            "limbeck_types/my_server.pyi",
            "limbeck_types/py.typed",
        ]
    );
    let (_, types) = files[2].1.split_once("\n\nclass ").unwrap();
    assert_eq!(
        types,
        r#"CreateResultOwner(Record):
    login: str

class CreateResult(Result):
    id: int
    owner: CreateResultOwner

CreateArgumentsParts = TypedDict("CreateArgumentsParts", {
    "a-b": NotRequired[int],
})

class CreateArguments(TypedDict):
    # Its name.
    name: str
    parts: NotRequired[list[CreateArgumentsParts]]

class Create(Tool):
    """Create
    Creates a thing.
    Slowly.
    Effect: unknown."""

    @overload
    def __call__(self, /, **arguments: Unpack[CreateArguments]) -> CreateResult: ...
    @overload
    def __call__(self, arguments: CreateArguments, /) -> CreateResult: ...

class OddName(Tool):
    """Effect: unknown."""

    def __call__(self, arguments: dict[str, Never] = ..., /) -> Any: ...

class MyServer(Server):
    create: Create
    odd_name: OddName
    @overload
    def __getitem__(self, name: Literal["odd-name"], /) -> OddName: ...
    @overload
    def __getitem__(self, name: str, /) -> Tool: ...
"#
    );
    assert!(files[0].1.contains(
        "    # Does things.\n    my_server: _m_my_server.MyServer\n    @overload\n    def __getitem__(self, name: Literal[\"my-server\"], /) -> _m_my_server.MyServer: ...\n"
    ), "{}", files[0].1);
}

#[test]
fn all_servers_become_one_typescript_file() {
    let files = render(&sample(), Language::Typescript);
    let [(path, text)] = files.as_slice() else {
        panic!("{files:?}")
    };
    assert_eq!(path, "limbeck.d.ts");
    let (_, tools) = text.split_once("declare const tools: ").unwrap();
    assert_eq!(
        tools,
        r#"{
  /** Does things. */
  "my-server": {
    /**
     * Create
     * Creates a thing.
     * Slowly.
     * Effect: unknown.
     */
    create: Limbeck.Tool<{
      /** Its name. */
      name: string;
      parts?: {
        /** Integer. */
        "a-b"?: number;
      }[];
    }, {
      /** Integer. */
      id: number;
      items?: unknown[];
      owner?: {
        login?: string;
      };
    }>;
    /**
     * Effect: unknown.
     */
    "odd-name": Limbeck.OptionalTool<Record<string, never>, unknown>;
  };
};
"#
    );
}

#[test]
fn a_type_that_contains_itself_has_a_name_in_both_languages() {
    let schema = json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "required": ["root"],
        "$defs": {"Node": {"type": "object", "properties": {"name": {"type": "string"}, "parent": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]}}, "required": ["name"]}}});
    let catalog = only(json!({"tools": [{"name": "walk", "inputSchema": schema}]}));
    let typescript = &render(&catalog, Language::Typescript)[0].1;
    assert!(
        typescript.contains(
            "declare namespace Limbeck {\n  type MyServerWalkNode = {\n    name: string;\n    parent?: Limbeck.MyServerWalkNode | null;\n  };\n}\n"
        ),
        "{typescript}"
    );
    assert!(
        typescript.contains(
            "    walk: Limbeck.Tool<{\n      root: Limbeck.MyServerWalkNode;\n    }, unknown>;\n"
        ),
        "{typescript}"
    );
    let python = &render(&catalog, Language::Python)[2].1;
    assert!(
        python.contains(
            "class WalkNode(TypedDict):\n    name: str\n    parent: NotRequired[WalkNode | None]\n"
        ),
        "{python}"
    );
    assert!(
        python.contains("class WalkArguments(TypedDict):\n    root: WalkNode\n"),
        "{python}"
    );
}

#[test]
fn arguments_that_allow_others_are_still_known_by_name_in_python() {
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}, "required": ["path"], "additionalProperties": true});
    let catalog = only(json!({"tools": [{"name": "walk", "inputSchema": schema}]}));
    let python = &render(&catalog, Language::Python)[2].1;
    assert!(
        python.contains(
            "    @overload\n    def __call__(self, /, *, path: str, depth: int = ..., **others: Any) -> Any: ...\n    \
             @overload\n    def __call__(self, arguments: Mapping[str, Any], /) -> Any: ...\n"
        ),
        "{python}"
    );
}

#[test]
fn no_text_of_a_server_is_a_directive_to_a_type_checker() {
    let evil = "type: ignore";
    let schema = json!({"type": "object", "properties": {"a": {"type": "string", "description": evil}, "b": {"type": "string", "description": "@ts-expect-error"}}});
    let catalog = only(
        json!({"instructions": "@ts-nocheck", "tools": [{"name": "walk", "description": "@ts-ignore\ntype: ignore", "inputSchema": schema}]}),
    );
    for language in Language::ALL {
        for (path, text) in render(&catalog, language) {
            assert!(
                !text.contains("@ts-") && !text.contains("# type:"),
                "{path}: {text}"
            );
        }
    }
}

#[test]
fn names_with_a_meaning_in_python_are_items_and_clashing_names_get_numbers() {
    let schema = json!({"type": "object", "properties": {
        "str": {"type": "string"}, "list": {"type": "array", "items": {"type": "string"}}}});
    let tool = |name: &str| json!({"name": name, "inputSchema": schema, "outputSchema": schema});
    let catalog = only(
        json!({"tools": [tool("list"), tool("import"), tool("a-b"), tool("a_b"), tool("__class__"), tool("\"]]):")]}),
    );
    let files = render(&catalog, Language::Python);
    let text = &files[2].1;
    let (_, server) = text.split_once("class MyServer(Server):\n").unwrap();
    let attributes: Vec<&str> = server
        .lines()
        .take_while(|line| !line.contains('@'))
        .collect();
    assert_eq!(attributes, ["    import_: Import", "    a_b: AB_2"]);
    for item in [
        r#"Literal["list"], /) -> List"#,
        r#"Literal["import"], /) -> Import"#,
        r#"Literal["a-b"], /) -> AB:"#,
        r#"Literal["__class__"], /) -> Class:"#,
        r#"Literal["\"]]):"], /) -> T:"#,
    ] {
        assert!(server.contains(item), "{item}\n{server}");
    }
    // A class with an attribute `str` could not say that another one is a string.
    assert!(
        text.contains(
            "ListArguments = TypedDict(\"ListArguments\", {\n    \"str\": NotRequired[str],"
        ),
        "{text}"
    );
}

#[test]
fn paths_are_plain_and_different_for_all_names_of_servers() {
    let names = [
        "../../etc/passwd",
        "A b",
        "a_b",
        "_limbeck",
        "__init__",
        "",
        "ü",
        &"x".repeat(300),
    ];
    let servers = names
        .iter()
        .map(|name| ServerTools::new(ServerName::from(*name), Vec::new(), None));
    let files = render(&Catalog::new(servers.collect()), Language::Python);
    assert_eq!(files.len(), names.len() + 3);
    let mut paths: Vec<&str> = files.iter().map(|(path, _)| path.as_str()).collect();
    for path in &paths {
        let (directory, file) = path.split_once('/').unwrap();
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "_.".contains(c);
        assert!(
            directory == "limbeck_types" && file.chars().all(plain),
            "{path}"
        );
        assert!(!file.starts_with('.') && file.len() < 80, "{path}");
    }
    paths.dedup();
    assert_eq!(paths.len(), files.len());
}

#[test]
fn the_same_servers_give_the_same_files_within_bounds() {
    let catalog = catalog();
    for language in Language::ALL {
        let files = render(&catalog, language);
        assert_eq!(files, render(&catalog, language));
        let bytes: usize = files.iter().map(|(_, text)| text.len()).sum();
        let tools = catalog.tools().count();
        println!("{language}: {bytes} bytes for {tools} tools");
        assert!(bytes < tools * (8 << 10), "{bytes}");
    }
}
