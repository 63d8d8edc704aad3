internal import JSON
import NetworkTypes
import RoamwardCore

let appsKeys = Mapping(
  subject: "`apps`", draft: AppsPolicy(),
  constraints: [.init(key: "not", value: .given("include", "exclude"))],
  keys: [
    Key(
      "include", .oneOrMore(app), "The programs that the tunnel is for: all of their packets go through it or nowhere, and no others.",
      example: "[transmission.service]"
    ) { $0.include = $1 },
    Key("exclude", .oneOrMore(app), "Programs that stay outside of every tunnel, past kill switches.", example: "[/usr/bin/steam]") {
      $0.exclude = $1
    },
  ])

private let app = ValueReader<App>(
  "a unit such as transmission.service or work.slice, a program's path, or `cgroup:` with a path",
  schema: .string(pattern: SchemaPattern.app), cure: cureOfApp
) { App($0) }

@Sendable private func cureOfApp(_ text: String) -> String? {
  if text.hasSuffix(".desktop") { return "name the program's file, as its `Exec=` line has it, and start it by `roamward run`" }
  if [".socket", ".timer", ".target"].contains(where: text.hasSuffix) { return "only a service, a scope or a slice has programs" }
  return text.contains("/") ? "a path begins with `/`" : "write its suffix (`\(text).service`), or the path of its file"
}

/// Refuses what has no meaning for a tunnel of some programs alone.
func judgeApps(_ draft: TunnelDraft, _ reading: inout Reading) {
  guard let apps = draft.apps else { return }
  if !apps.policy.include.isEmpty, !apps.policy.exclude.isEmpty {
    reading.error(
      "`include` and `exclude` exclude one another: with `include` no other program uses the tunnel",
      help: "keep `include`, or give `exclude` to another tunnel", at: apps.location)
  }
  if apps.policy.include.isEmpty { return }
  func refuse(_ key: String, _ reason: String) {
    reading.error("`\(key)` has no meaning beside `apps: include`: \(reason)", help: "remove `\(key)`, or `apps`", at: apps.location)
  }
  if let provider = draft.provider, provider.isWithoutLink {
    reading.error(
      "`apps: include` needs the tunnel's link: nothing else may carry the packets of these programs",
      help: "add `interface:` to `\(provider.name)`", at: apps.location)
  }
  if draft.includesAllNetworks { refuse("include-all-networks", "only these programs use the tunnel") }
  if !(draft.routes?.include ?? []).isEmpty { refuse("routes: include", "all packets of these programs go through the tunnel") }
  if let routes = draft.routes, !routes.includeDomains.isEmpty || !routes.excludeDomains.isEmpty {
    refuse("routes: include-domains", "all packets of these programs go through the tunnel")
  }
  if draft.killSwitch != .off { refuse("kill-switch", "packets of these programs leave by the tunnel or not at all, at all times") }
}
