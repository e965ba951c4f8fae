"""Two small servers, one of each language: typed answers used in the next call."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from gateway import Gateway


def test_times_are_converted_the_way_python_converts_them(gateway: Gateway) -> None:
    zones = ["Asia/Tokyo", "America/New_York", "Asia/Kathmandu", "Pacific/Chatham"]
    day = datetime.now(UTC).date()

    value = gateway.execute(
        """
        const converted = await Promise.all(input.map((target_timezone) =>
          tools.time.convert_time({ time: "09:30", source_timezone: "UTC", target_timezone })));
        const back = await tools.time.convert_time({
          time: converted[0].target.datetime.slice(11, 16), source_timezone: input[0], target_timezone: "UTC" });
        return { targets: converted.map(({ target }) => target.datetime), back: back.target.datetime.slice(11, 16) };
        """,
        input=zones,
    ).value

    for zone, target in zip(zones, value["targets"], strict=True):
        converted = datetime.fromisoformat(target)
        expected = datetime(day.year, day.month, day.day, 9, 30, tzinfo=UTC).astimezone(ZoneInfo(zone))
        assert abs(converted - expected) in (timedelta(0), timedelta(days=1)), zone  # midnight may pass
        assert converted.utcoffset() == expected.utcoffset()
    assert value["back"] == "09:30"


def test_a_chain_of_thoughts_runs_until_the_server_has_enough(gateway: Gateway) -> None:
    value = gateway.execute(
        """
        const think = tools["sequential-thinking"].sequentialthinking;
        const history = [];
        let totalThoughts = 3;
        for (let thoughtNumber = 1; ; thoughtNumber++) {
          if (thoughtNumber === 3) totalThoughts = 5;
          const reply = await think({
            thought: `step ${thoughtNumber}`, thoughtNumber, totalThoughts,
            nextThoughtNeeded: thoughtNumber < totalThoughts,
            ...(thoughtNumber === 4 ? { isRevision: true, revisesThought: 2 } : {}),
          });
          history.push(reply);
          if (!reply.nextThoughtNeeded) return history;
        }
        """
    ).value

    assert [step["thoughtNumber"] for step in value] == [1, 2, 3, 4, 5]
    assert [step["totalThoughts"] for step in value] == [3, 3, 5, 5, 5]
    lengths = [step["thoughtHistoryLength"] for step in value]
    assert lengths == list(range(lengths[0], lengths[0] + 5))
