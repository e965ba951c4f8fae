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
/** A call by its full name `mcp__server__tool`, or by the names of server and tool. */
declare function callMCPTool(name: string, args?: object): Promise<any>;
declare function callMCPTool(server: string, tool: string, args?: object): Promise<any>;
