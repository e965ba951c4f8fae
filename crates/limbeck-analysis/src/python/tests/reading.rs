//! Place of the program in the text that a model sent.

use super::*;

fn place(program: &str) -> (u32, u32) {
    let found = site(program);
    (found.line, found.column)
}

#[test]
fn places_are_those_of_the_text_as_it_was_sent() {
    for (program, expected) in [
        ("\u{feff}tools.shop.echo(a=1)", (1, 1)),
        ("x = 1\r\ny = 2\rtools.shop.echo(a=1)\r\n", (3, 1)),
        (
            "Here it is:\n\n```python\nx = 1\ntools.shop.echo(a=1)\n```\nThat is all.",
            (5, 1),
        ),
        ("```\ntools.shop.echo(a=1)", (2, 1)),
        (
            "```sh\nls\n```\n ```py \ntools.shop.echo(a=1)\n```\n```py\ntools.shop.nope()\n```",
            (5, 1),
        ),
        ("```sh\nx = tools.shop.echo(a=1)\n```", (2, 5)),
        ("\n    x = 1\n    tools.shop.echo(a=1)\n", (3, 1)),
        (
            "'''\n```\ntools.shop.nope()\n```\n'''\ntools.shop.echo(a=1)",
            (6, 1),
        ),
    ] {
        assert_eq!(place(program), expected, "{program}");
    }
}

#[test]
fn what_is_no_program_is_not_read() {
    for text in [
        "This is no program.",
        "```python\nThis is none.\n```",
        "```js\nconst a = 1;\n```\nnor this",
        "    x = 1\n  y = 2",
        "tools.shop.echo(",
    ] {
        assert_eq!(sites(text, SERVERS), None, "{text}");
    }
    let largest = format!("#{}", " ".repeat(PROGRAM_BYTES_MAX - 1));
    assert_eq!(sites(&largest, SERVERS), Some(Sites::default()));
    assert_eq!(sites(&format!("{largest} "), SERVERS), None);
}

#[test]
fn a_list_of_servers_that_is_none_names_no_server() {
    for servers in ["", "null", "{}", r#"[{"nome":"shop"}]"#] {
        let found = sites("mcp_shop.echo(a=1)\ntools.shop.echo(a=1)", servers).unwrap();
        assert_eq!(found.sites.len(), 1, "{servers}");
    }
}

#[test]
fn servers_have_the_aliases_of_the_earlier_system() {
    let servers = r#"[{"name":"My Server!"},{"name":"my.server_"},{"name":"2FA"},{"name":"é"}]"#;
    for (alias, server) in [
        ("my_server_", "My Server!"),
        ("my_server__2", "my.server_"),
        ("_2fa", "2FA"),
        ("_", "é"),
    ] {
        let found = sites(&format!("mcp_{alias}.echo(a=1)"), servers).unwrap();
        assert_eq!(found.sites[0].server.as_deref(), Some(server));
    }
}
