internal import RoamwardCore

/// Keys whose values may stand in a report.
enum HarmlessKeys {
  /// Keys of policies, and of what our programs print as JSON. `Tests/CommandLine/BugReportTests` looks at every key of their schemas.
  static let ofDocuments: Set<String> = [
    // Policies, networks and timelines.
    "action", "age", "answer-by-arrival", "any", "bssid", "captive-portal-api", "class", "config", "days", "decide-within", "dns-domain",
    "disconnect-on-sleep", "dns-server", "dns-servers", "dnssec", "domains", "enabled", "enforce", "exclude", "exclude-domains",
    "exclude-file", "exclude-simple-names", "exit-node", "from", "gateway", "gateway-mac", "gateways", "hosts", "idle", "include",
    "include-domains", "include-file", "include-all-networks", "insecure", "installed", "interface-name", "kill-switch", "lan",
    "lan-networks", "match-domains", "minimum-dwell", "mtu", "name", "names", "network", "one-of", "on-overlap", "on-unknown", "overhead",
    "pac-file", "prefer", "profile", "proxy", "publish", "rebind-allowed", "release-delay", "search-domains", "servers", "settle", "size",
    "ssid", "ssid-file", "ssid-glob", "start-options", "subnet", "through", "time", "timeout", "to", "type", "unit", "unknown",
    "unavailable", "version", "when-down", "primary", "other-probes",
    // Reports of our programs.
    "addresses", "answered-at", "asked", "at", "backend", "believed", "blocking", "brought", "chosen", "cipher", "column", "confirmed",
    "control-group", "count", "counters", "decision", "endpoint", "endpoints", "evaluations", "events", "evicted", "excluded",
    "failure-code", "file", "files", "generation", "group", "held-since", "identity", "included", "index", "ipv4", "ipv6", "kind",
    "last-handshake", "last-link-before", "last-wake", "level", "lifetime", "line", "link", "lookup", "mark", "memory-bytes",
    "name-servers", "next-at", "next-wake", "number", "observations", "outside", "overflows", "override", "override-ends",
    "override-lifetime", "override-since", "override-until", "peer-silence-ms", "pid", "plans", "polls", "prefix", "processor-ms",
    "program", "programs", "published", "received-bytes", "refused", "repairs", "role", "route-count", "rule", "script", "sent-bytes",
    "severity", "shared", "since", "situation", "source", "split", "stand-ins", "state", "steps", "table", "timer", "trial-until",
    "tunnel", "until", "usage", "user", "wanted", "way",
    // Sentences of our programs, in which a search follows.
    "code", "failure", "message", "notes", "override-reason", "problems", "reason", "said", "text", "transport", "status",
  ]

  /// Keys of facts that are true, false or a word of an enumeration: they name no place and no person.
  static let ofFacts: Set<String> = Set(
    FactTable.all.filter { if case .word = $0.form { true } else { $0.form == .flag } }.flatMap { fact in
      [fact.key] + FactTable.keys.filter { $0.fact == fact.key }.map(\.name)
    })

  /// Keys whose values have keys of their own.
  static let containers: Set<String> = [
    "allow", "any-of", "apps", "candidates", "cgroup", "command", "connections", "dns", "ended-programs", "engine", "facts", "firewall",
    "groups", "guards",
    "history", "last", "links", "match", "members", "networkmanager", "networks", "not", "on-demand", "options", "others", "policy",
    "probe", "probes", "processes", "provider", "proxies", "questions", "routes", "rules", "sign-in", "sites", "states", "tailscale",
    "timers", "timing", "tunnels", "wireguard", "withheld", "by-name",
  ]

  /// Keys whose values have keys that a person or a program chose.
  static let named: Set<String> = [
    "counters", "facts", "groups", "links", "networks", "probes", "remembered-probes", "repairs", "states", "tunnels",
  ]

  /// Keys whose values are left out: addresses with names and words of people in them, what a provider asks for, and what was looked up.
  static let leftOut: Set<String> = [
    "address", "answer", "credentials", "definition", "description", "domain", "environment", "http", "https", "logged-in", "other",
    "owner",
    "pac", "pin", "prompt", "query", "stop", "url", "users",
  ]

  static let commands: Set<String> = ["up", "down", "status", "argv", "exec", "arguments"]

  static let ofSettings: Set<String> = [
    "address", "allowedips", "autoconnect", "dns", "dnssearch", "endpoint", "fwmark", "interfacename", "ipv", "jc", "jmax", "jmin",
    "listenport", "method", "mtu", "neverdefault", "persistentkeepalive", "saveconfig", "servicetype", "table", "type",
  ]

  /// Words of policies.
  static let words: Set<String> = [
    "always", "apply", "capture", "connect", "connect-always", "connect-if-needed", "disconnect", "enterprise", "ethernet",
    "evaluate-connection", "false", "ignore", "never-connect", "none", "off", "on", "personal", "prefer-local", "prefer-tunnel", "refuse",
    "true", "wifi",
  ]
}
