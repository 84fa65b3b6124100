# What a schema cannot say: schemathesis reads it here. See .ci/api.
import re
import uuid
from datetime import datetime, timedelta, timezone

import schemathesis
from hypothesis import strategies as st


def written(at):
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


# A destination, and not QuickLink's own host.
schemathesis.openapi.format(
    "uri",
    st.builds(
        "{}://{}.{}/{}".format,
        st.sampled_from(["http", "https", "HTTPS"]),
        st.from_regex(r"[a-z][a-z0-9]{0,20}", fullmatch=True),
        st.sampled_from(["example", "example.org", "test"]),
        st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), max_size=40),
    ),
)

# A time at which a link may end, so one in the future.
schemathesis.openapi.format("date-time", st.datetimes(datetime(2100, 1, 1), datetime(9998, 1, 1)).map(written))


@schemathesis.hook
def before_call(ctx, case, kwargs):
    # What is wrong on purpose stays wrong.
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    # It sends what it was answered: times that are over, and short URLs, which lead to QuickLink itself.
    if isinstance(case.body, dict):
        if "localhost" in str(case.body.get("url")):
            case.body["url"] = "https://example.org/"
        ends = case.body.get("expiresAt")
        if isinstance(ends, str) and ends < written(datetime.now(timezone.utc) + timedelta(hours=1)):
            case.body["expiresAt"] = "2100-01-01T00:00:00Z"
    # The same key again is the same answer again, also of a link that was deleted since.
    if case.headers and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    # In one phase it sends a 0, whatever the pattern says.
    if case.headers and not re.fullmatch(r'\*|(W/)?"[!#-~]*"', case.headers.get("If-Match", "*")):
        case.headers["If-Match"] = '"1.0"'
    if case.query:
        # Only a server can make a cursor.
        case.query.pop("cursor", None)
        # A range has an order, and at most 2,200 buckets.
        if "from" in case.query or "to" in case.query:
            case.query.pop("to", None)
            case.query["from"] = written(datetime.now(timezone.utc) - timedelta(days=30))
