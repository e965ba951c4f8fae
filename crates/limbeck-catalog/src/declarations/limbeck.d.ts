declare namespace Limbeck {
  /** A tool. It is called with one object of arguments. */
  interface Tool<Arguments, Value> {
    (args: Arguments): Promise<Value>;
    /** The whole result, `isError` included. */
    raw(args: Arguments): Promise<CallToolResult>;
  }

  /** A tool that may be called without arguments. */
  interface OptionalTool<Arguments, Value> {
    (args?: Arguments): Promise<Value>;
    /** The whole result, `isError` included. */
    raw(args?: Arguments): Promise<CallToolResult>;
  }

  /** A result as its server sent it. */
  interface CallToolResult {
    content: { type: string; [key: string]: any }[];
    structuredContent?: any;
    isError?: boolean;
    [key: string]: any;
  }

  /** What a server offers besides tools. */
  interface Offers {
    readonly resources: {
      list(): Promise<{ uri: string; name: string; [key: string]: any }[]>;
      templates(): Promise<{ uriTemplate: string; name: string; [key: string]: any }[]>;
      read(uri: string): Promise<{ uri: string; text?: string; blob?: string; [key: string]: any }[]>;
    };
    readonly prompts: {
      list(): Promise<{ name: string; [key: string]: any }[]>;
      get(name: string, args?: object): Promise<{ messages: any[]; [key: string]: any }>;
    };
  }

  /** What is known of an artifact. */
  interface ArtifactInfo {
    id: string;
    mimeType: string;
    bytes: number;
    created: string;
    expires: string;
    name?: string;
    shape?: string;
    items?: number;
  }

  /** Content that was kept. It is read when it is asked for; iterated it gives its items or lines. */
  interface Artifact extends AsyncIterable<any> {
    readonly id: string;
    info(): Promise<ArtifactInfo>;
    json(): Promise<any>;
    text(): Promise<string>;
    base64(): Promise<string>;
    bytes(): Promise<Uint8Array>;
    /** What a JSON path (RFC 9535) selects. */
    select(path: string): Promise<any[]>;
  }

  /** Options of `search`. */
  interface SearchOptions {
    limit?: number;
    server?: string;
  }
}

/** Why a call failed. */
declare class ToolError extends Error {
  readonly code: string;
  readonly server?: string;
  readonly tool?: string;
  readonly hint?: string;
  readonly retryable: boolean;
}

/** What the program was given. */
declare const input: any;
/** Tools that match, best first. */
declare function search(query: string, options?: Limbeck.SearchOptions): Promise<any[]>;
/** A server with its tools, or one tool. */
declare function describe(target: unknown, tool?: string): Promise<any>;
/** Every server with its state; `servers.name` is what one offers besides tools. */
declare const servers: {
  (): Promise<any[]>;
  readonly [server: string]: Limbeck.Offers;
};
/** Values kept between executions. */
declare const store: {
  get(key: string): Promise<any>;
  set(key: string, value: unknown): Promise<void>;
};
/** What was kept whole of an answer or of a tool's result, and what programs keep. */
declare const artifacts: {
  open(id: string | { artifact: string } | { id: string }): Limbeck.Artifact;
  list(): Promise<Limbeck.ArtifactInfo[]>;
  save(value: unknown, name?: string): Promise<Limbeck.ArtifactInfo>;
};
/** Gives the client a text, a content block or an artifact beside the result. */
declare function emit(block: unknown): Promise<void>;
/** A call by its full name `mcp__server__tool`, or by the names of server and tool. */
declare function callMCPTool(name: string, args?: object): Promise<any>;
declare function callMCPTool(server: string, tool: string, args?: object): Promise<any>;
