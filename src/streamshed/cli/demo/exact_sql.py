"""The demo's queries for plain Spark and all rows: the yardstick of the answers."""

from collections.abc import Mapping

ROWS_VIEW = "fed_packets"
HOSTS_VIEW = "fed_hosts"

EXACT_SQL: Mapping[str, str] = {
    "tcp": f"""
        SELECT window, array() AS key, count(*) AS packets, sum(size) AS bytes
        FROM {ROWS_VIEW} WHERE proto = 6
        GROUP BY window(ts, '20 seconds', '5 seconds')""",
    "udp": f"""
        SELECT window, array() AS key, count(*) AS packets
        FROM {ROWS_VIEW} WHERE proto = 17
        GROUP BY window(ts, '10 seconds', '5 seconds')""",
    "web_by_subnet": f"""
        SELECT window, array(subnet) AS key, count(*) AS packets, sum(size) AS bytes
        FROM {ROWS_VIEW} JOIN {HOSTS_VIEW} ON src_host = host
        WHERE proto = 6 AND dest_port IN (80, 443)
        GROUP BY window(ts, '10 seconds', '5 seconds'), subnet""",
    "mail": f"""
        SELECT window, array() AS key, sum(size) AS bytes, avg(size) AS mean
        FROM {ROWS_VIEW} WHERE proto = 6 AND (src_port = 25 OR dest_port = 25)
        GROUP BY window(ts, '20 seconds', '5 seconds')""",
    "names_by_subnet": f"""
        SELECT window, array(subnet) AS key, count(*) AS packets
        FROM {ROWS_VIEW} JOIN {HOSTS_VIEW} ON src_host = host
        WHERE proto = 17 AND dest_port = 53
        GROUP BY window(ts, '10 seconds'), subnet""",
    "large": f"""
        SELECT window, array() AS key, count(*) AS packets
        FROM {ROWS_VIEW} WHERE proto = 6 AND size >= 1400
        GROUP BY window(ts, '10 seconds')""",
    "protocols": f"""
        SELECT window, array(string(proto)) AS key, count(*) AS packets
        FROM {ROWS_VIEW}
        GROUP BY window(ts, '10 seconds', '5 seconds'), proto""",
    "to_servers": f"""
        SELECT window, array() AS key, sum(size) AS bytes
        FROM {ROWS_VIEW} JOIN {HOSTS_VIEW} ON dest_host = host
        WHERE proto = 6 AND role = 'server'
        GROUP BY window(ts, '20 seconds', '5 seconds')""",
    "largest_by_sender": f"""
        SELECT window, array(src_host) AS key, xxhash64(0L, src_host) & 15 AS cohort,
               max(size) AS largest
        FROM {ROWS_VIEW}
        GROUP BY window(ts, '5 seconds'), src_host""",
}
"""By the name of the query: window, key as texts, and a column for each aggregate; where gaps are by group, its
cohort."""
