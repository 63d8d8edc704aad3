import TestSupport
import Testing

/// Gateways that share a store on PostgreSQL: settings, sessions, addresses, and what stays when a server or a gateway is killed.
@Suite(.serialized, .forScenes) struct SeveralGatewaysTests {
  @Test(
    "100 devices keep their sessions while the server of the store is dead", .needs("python3", "pgrep", "od", "ss"),
    .enabled(if: GatewayScene.hasServer, "needs PostgreSQL"))
  func deadServer() throws {
    try GatewayScene.play(
      "crowd", "server", with: GatewayScene.loginClient, ["FILL": GatewayScene.root + "/Benchmarks/gatewaylab.py"])
  }

  @Test(
    "two gateways share a store on PostgreSQL: what one changes the other one does, and without the server everybody stays",
    .enabled(if: GatewayScene.hasServer, "needs PostgreSQL"))
  func sharedStore() throws {
    try GatewayScene.play("shared", with: GatewayScene.loginClient)
  }

  @Test(
    "no command changes a store that the running gateway does not serve; a move of the store, to a server and back, loses nothing",
    .needs("ss"), .enabled(if: GatewayScene.hasServer, "needs PostgreSQL"))
  func moved() throws { try GatewayScene.play("moved") }

  @Test(
    "a change is in force at every other gateway, by notifications, and within 15 s where the packets of a gateway's connection vanish",
    .enabled(if: GatewayScene.hasServer, "needs PostgreSQL"))
  func silent() throws {
    try GatewayScene.play("silent")
  }

  @Test(
    "a pair with one address: a download goes on when the active gateway is killed, stopped or hangs, by masquerade with conntrackd and by our agent too",
    .enabled(
      if: GatewayScene.hasServer && (try? shell("command -v keepalived conntrackd conntrack python3 wireguard-go sysctl ss jq")) != nil,
      "needs PostgreSQL, keepalived, conntrackd, jq and python3"), arguments: ["routed", "translated", "late", "agent", "agent6"])
  func pair(kind: String) throws {
    try GatewayScene.play(
      "pair", kind, with: ["FLOW": GatewayScene.folder + "/flow.py", "EXAMPLES": GatewayScene.root + "/examples/gateway-pair"])
  }

  @Test(
    "both gateways of a pair give addresses of one pool, while one is killed again and again: none is given twice (GRANTS, SEED)",
    .enabled(if: GatewayScene.hasServer, "needs PostgreSQL"))
  func grants() throws {
    try GatewayScene.play(
      "grants", with: ["GRANTS": GatewayScene.variable("GRANTS") ?? "60", "SEED": GatewayScene.seed])
  }

  @Test(
    "devices log in at both gateways of a pair at once, while one is killed again and again: each has one address (LOGINS, SEED)",
    .enabled(if: GatewayScene.hasServer && (try? shell("command -v xargs ss")) != nil, "needs PostgreSQL, xargs and ss"))
  func logins() throws {
    try GatewayScene.play(
      "logins", with: GatewayScene.loginClient, ["LOGINS": GatewayScene.variable("LOGINS") ?? "60", "SEED": GatewayScene.seed])
  }
}
