import NetworkTypes
import RoamwardCore

/// Reads `com.apple.dnsSettings.managed`. It contains no tunnel: its network rules are kept as the rules of a disabled tunnel.
func readDNSSettings(
  _ fields: inout Fields, tunnel start: ImportedTunnel, options: ImportOptions, _ report: inout ImportReport
) -> ImportedTunnel {
  var tunnel = start
  tunnel.obstacles.append(
    "these are DNS settings without a tunnel, which this version has no provider for; the rules say where they are to be used")
  if let rules = fields.take("OnDemandRules") {
    let read = readOnDemandRules(rules, dialect: .dnsSettings, legacy: LegacyDomains(), reading: options.reading, &report)
    tunnel.rules = read.rules
    tunnel.ruleObstacle = read.problem
  } else {
    tunnel.rules = [
      ImportedRule(
        rule: Rule(action: .connect, location: SourceLocation(file: report.file, line: 1, column: 1)), original: "no rules: always used")
    ]
    report.record("no rules: DNS settings without rules are always used", line: fields.place.line)
  }
  tunnel.onDemand = true
  fields.drop(["OnDemandEnabled"], reason: "DNS settings have no such switch; it never had an effect", weight: .warning, &report)
  if let item = fields.take("DNSSettings"), var settings = Fields(item, &report) {
    for key in ["DNSProtocol", "ServerURL", "ServerName", "ServerAddresses", "SupplementalMatchDomains"] {
      guard let setting = settings.take(key) else { continue }
      let value = compactText(setting.property)
      if value.contains("@") {
        report.dropped(setting.place, "may hold credentials", weight: .warning)
        continue
      }
      tunnel.remarks.append("\(key): \(value)")
      report.changed(setting.place, "kept as a comment: nothing here sets a machine's DNS without a tunnel", weight: .warning)
    }
    settings.finish(&report)
  }
  fields.drop(["ProhibitDisablement"], reason: "a person can always outrank the rules here", weight: .warning, &report)
  return tunnel
}
