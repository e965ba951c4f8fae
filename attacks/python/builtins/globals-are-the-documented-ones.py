# attack: lists every global name, looking for one that is not documented
# property: S06
# expect: value []
ours = "tools search describe servers input store artifacts emit ToolError call_tool acall_tool budget skills save_skill workspace"
seeds = (
    "call_mcp_tool discover_mcp_tools get_tool_schema search_tools llm runtime mcp_servers LOADED_MCP_SERVERS "
    "mcp_shop mcp_probe save_tool MCPError list_servers call_mcp_tool_sync"
)
language = "__name__ __builtins__ __doc__ __file__ __loader__ __spec__ __package__ __annotations__ __cached__ __annotate__ __conditional_annotations__"
own = {"ours", "seeds", "language", "own", "names", "name"}
# Names in brackets cannot be written; they are what the source was rewritten with.
names = {name for name in globals() if name.isidentifier()}
return sorted(names - own - set(f"{ours} {seeds} {language}".split()))
