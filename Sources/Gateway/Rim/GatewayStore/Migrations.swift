import GatewayCore

/// The changes of the database's tables, in their order. One that was released never changes.
package enum Migrations {
  /// The statements of SQL of each change.
  package static let all: [[String]] = [
    [
      "CREATE TABLE site (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, endpoint TEXT NOT NULL, public_key BYTEA NOT NULL, link TEXT NOT NULL)",
      "CREATE TABLE users (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, name TEXT NOT NULL UNIQUE, locked BIGINT NOT NULL, until BIGINT)",
      "CREATE TABLE groups (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, name TEXT NOT NULL UNIQUE, precedence BIGINT NOT NULL)",
      "CREATE TABLE members (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, user_id BIGINT NOT NULL, group_id BIGINT NOT NULL, "
        + "UNIQUE (user_id, group_id))",
      "CREATE TABLE devices (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, user_id BIGINT NOT NULL, name TEXT NOT NULL, "
        + "public_key BYTEA NOT NULL UNIQUE, added BIGINT NOT NULL, UNIQUE (user_id, name))",
      "CREATE TABLE pools (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, name TEXT NOT NULL UNIQUE, address BYTEA NOT NULL UNIQUE, "
        + "length BIGINT NOT NULL, translated BIGINT NOT NULL)",
      "CREATE TABLE leases (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, pool_id BIGINT NOT NULL, address BYTEA NOT NULL UNIQUE, "
        + "device_id BIGINT, holder TEXT NOT NULL, released BIGINT)",
      "CREATE TABLE settings (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, scope TEXT NOT NULL, scope_id BIGINT NOT NULL, "
        + "routes TEXT NOT NULL, dns TEXT NOT NULL, search TEXT NOT NULL, mtu BIGINT, keepalive BIGINT, UNIQUE (scope, scope_id))",
      "CREATE TABLE access_rules (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, name TEXT NOT NULL UNIQUE, position BIGINT NOT NULL, "
        + "source TEXT NOT NULL, source_id BIGINT NOT NULL, prefixes TEXT NOT NULL, group_id BIGINT, transport TEXT NOT NULL, "
        + "ports TEXT NOT NULL, allows BIGINT NOT NULL)",
      // The rows that were removed, for gateways that follow.
      "CREATE TABLE tombstones (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, kind TEXT NOT NULL, removed BIGINT NOT NULL)",
      "CREATE TABLE audit (sequence BIGINT PRIMARY KEY, time BIGINT NOT NULL, actor TEXT NOT NULL, verb TEXT NOT NULL, object TEXT NOT NULL, "
        + "detail TEXT NOT NULL, hash BYTEA NOT NULL)",
    ]
      + versionIndexes(
        "site", "users", "groups", "members", "devices", "pools", "leases", "settings", "access_rules", "tombstones"),
    [
      // The credentials of users, and the logins of devices.
      "CREATE TABLE credentials (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, user_id BIGINT NOT NULL UNIQUE, password TEXT NOT NULL, "
        + "must_change BIGINT NOT NULL, code_secret BYTEA NOT NULL, code_step BIGINT NOT NULL)",
      "CREATE TABLE tokens (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, user_id BIGINT NOT NULL, hash BYTEA NOT NULL UNIQUE, "
        + "uses BIGINT NOT NULL, until BIGINT NOT NULL)",
      "CREATE TABLE logins (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, device_id BIGINT NOT NULL UNIQUE, proven BIGINT NOT NULL, "
        + "factors TEXT NOT NULL, source TEXT NOT NULL)",
    ] + versionIndexes("credentials", "tokens", "logins"),
    // The person at an OpenID provider.
    ["ALTER TABLE users ADD COLUMN subject TEXT"],
    // Rows of a device or a user are found without a look at all others.
    ["CREATE INDEX leases_device ON leases (device_id)", "CREATE INDEX tokens_user ON tokens (user_id)"],
    // Several gateways, each with pools of its own. The present one has all of them.
    [
      "ALTER TABLE site ADD COLUMN name TEXT NOT NULL DEFAULT 'main'", "ALTER TABLE site ADD COLUMN pin BYTEA",
      "ALTER TABLE site ADD COLUMN relay_port BIGINT", "ALTER TABLE pools ADD COLUMN site_id BIGINT",
      "UPDATE pools SET site_id = (SELECT min(id) FROM site)",
    ],
    [
      // Which gateways use the store, and where each device was last connected: for the other gateway of a pair. Neither is announced.
      "CREATE TABLE partners (id TEXT PRIMARY KEY, public_key BYTEA NOT NULL, host TEXT NOT NULL, seen BIGINT NOT NULL)",
      "CREATE TABLE endpoints (public_key BYTEA PRIMARY KEY, version BIGINT NOT NULL, endpoint TEXT NOT NULL, handshake BIGINT NOT NULL, "
        + "gateway TEXT NOT NULL)",
    ] + versionIndexes("endpoints"),
    // A session that was ended: the device has to log in again.
    ["ALTER TABLE logins ADD COLUMN ended BIGINT"],
    // Codes for a person whose authenticator app is lost.
    ["ALTER TABLE credentials ADD COLUMN recovery TEXT"],
    // The number of devices that a user may add.
    ["ALTER TABLE settings ADD COLUMN devices BIGINT"],
    // Marks of what files declare.
    [
      "CREATE TABLE declarations (id BIGINT PRIMARY KEY, version BIGINT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL, "
        + "place TEXT NOT NULL, site_id BIGINT NOT NULL, UNIQUE (kind, name, site_id))"
    ] + versionIndexes("declarations"),
  ]

  private static func versionIndexes(_ tables: String...) -> [String] {
    tables.map { "CREATE INDEX \($0)_version ON \($0) (version)" }
  }
}
