# What a schema cannot say: schemathesis reads it here. See .ci/api.
import os
import random
import re
import uuid
from datetime import datetime, timedelta, timezone
from ipaddress import IPv4Address

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
        # What the format allows, and no more: where the hook below changes a body, all of it is judged anew.
        st.text("abcxyz019-._~!$&'()*+,;=:@/?", max_size=40),
    ),
)

# A time at which a link may end, so one in the future.
schemathesis.openapi.format("date-time", st.datetimes(datetime(2100, 1, 1), datetime(9998, 1, 1)).map(written))


def is_own(url):
    # A short URL that it was answered has the port of this server, and none of those that it makes up has one.
    return re.match(r"https?://[^/]*:\d+(/|$)", str(url)) is not None


def lead_once(body):
    # A link has rules or a password, and is not permanent then, whatever it had before.
    rules = body.get("rules")
    for rule in rules if isinstance(rules, list) else []:
        when = rule.get("when") if isinstance(rule, dict) else None
        # What it names begins before it ends.
        if isinstance(when, dict) and "after" in when:
            when.pop("before", None)
        if isinstance(rule, dict) and is_own(rule.get("url")):
            rule["url"] = "https://example.org/"
    if rules:
        body["password"] = None
    elif body.get("password") is not None or body.get("permanent"):
        body["rules"] = None
    if rules or body.get("password") is not None:
        body["permanent"] = False
    elif body.get("permanent"):
        body["password"] = None


@schemathesis.hook
def before_call(ctx, case, kwargs):
    # From an address of its own, which the probes with a wrong key take from it: one address may try few keys in a minute.
    case.headers["X-Forwarded-For"] = str(IPv4Address(random.getrandbits(32)))
    # What is wrong on purpose stays wrong.
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    # A file that is one; whatever its name for it, it is read as it looks.
    if case.path == "/imports" and case.method == "POST":
        case.body = b"url\nhttps://example.org/\n"
        if case.query:
            case.query.pop("format", None)
    # Where a link is, of a link that is named.
    if case.path == "/audit" and case.query and "code" not in case.query:
        case.query.pop("domain", None)
    # It sends what it was answered: times that are over, and short URLs, which lead to QuickLink itself.
    if isinstance(case.body, dict):
        for url in ("url", "expiredUrl"):
            if is_own(case.body.get(url)):
                case.body[url] = "https://example.org/"
        ends = case.body.get("expiresAt")
        if isinstance(ends, str) and ends < written(datetime.now(timezone.utc) + timedelta(hours=1)):
            case.body["expiresAt"] = "2100-01-01T00:00:00Z"
        # It begins before it ends, also before the end that it has already.
        if isinstance(case.body.get("startsAt"), str):
            case.body["startsAt"] = "2001-01-01T00:00:00Z"
        lead_once(case.body)
        # Keys that nobody has are counted: after some of them each further one is 429, which the check of keys does not expect.
        if case.path == "/session":
            case.body = {"key": os.environ["QUICKLINK_KEY"]}
        # Members are of a tenant that exists.
        if case.path == "/members" and "tenant" in case.body:
            case.body["tenant"] = "owner"
        # Tenants that exist.
        if isinstance(case.body.get("tenants"), list):
            case.body["tenants"] = ["owner"]
    # Which links: by their codes or by a filter, and by the codes, where it has both.
    if case.path == "/links/bulk" and case.method != "POST" and isinstance(case.body, dict):
        if "codes" not in case.body and "filter" not in case.body:
            case.body["codes"] = ["none"]
    if case.path == "/links/bulk" and isinstance(case.body, dict) and "codes" in case.body:
        case.body.pop("filter", None)
        case.body.pop("cursor", None)
    if case.path == "/links/bulk" and isinstance(case.body, dict) and "filter" in case.body:
        case.body.pop("cursor", None)
        if case.query:
            case.query.pop("domain", None)
        if isinstance(case.body["filter"], dict) and is_own(case.body["filter"].get("url")):
            case.body["filter"]["url"] = "https://example.org/"
    if case.path == "/links/bulk" and isinstance(case.body, dict) and isinstance(case.body.get("change"), dict):
        change = case.body["change"]
        for url in ("url", "expiredUrl"):
            if is_own(change.get(url)):
                change[url] = "https://example.org/"
        ends = change.get("expiresAt")
        if isinstance(ends, str) and ends < written(datetime.now(timezone.utc) + timedelta(hours=1)):
            change["expiresAt"] = "2100-01-01T00:00:00Z"
        if isinstance(change.get("startsAt"), str):
            change["startsAt"] = "2001-01-01T00:00:00Z"
        lead_once(change)
    # The same key again is the same answer again, also of a link that was deleted since.
    if case.headers and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = str(uuid.uuid4())
    # In one phase it sends a 0, whatever the pattern says.
    if case.headers and not re.fullmatch(r'\*|(W/)?"[!#-~]*"', case.headers.get("If-Match", "*")):
        case.headers["If-Match"] = '"1.0"'
    if case.query:
        # It is for plain links.
        if "onExisting" in case.query and isinstance(case.body, dict):
            links = case.body.get("links", [case.body])
            for link in links if isinstance(links, list) else []:
                for field in set(link) - {"url", "domain", "title", "note", "tags"} if isinstance(link, dict) else []:
                    del link[field]
        if is_own(case.query.get("url")):
            case.query["url"] = "https://example.org/"
        # Only a server can make a cursor.
        case.query.pop("cursor", None)
        # A range has an order, and at most 2,200 buckets.
        if "from" in case.query or "to" in case.query:
            case.query.pop("to", None)
            case.query["from"] = written(datetime.now(timezone.utc) - timedelta(days=30))
        # Zones that there are.
        if "tz" in case.query:
            case.query["tz"] = "Europe/Berlin"
