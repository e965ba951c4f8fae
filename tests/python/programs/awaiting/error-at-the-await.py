# A failure comes out where the call is awaited, in a `try` around it.
call = tools.flaky.fail(message="later")
try:
    await call
except ToolError as error:
    print("caught", error)
try:
    tools.flaky.fail(message="at once")["x"]
except ToolError as error:
    print("caught", error)
async def quiet():
    try:
        return await tools.flaky.fail(message="inside")
    except ToolError:
        return None
print(await quiet())
