package import NetworkTypes

/// A browser on this host, and what its administrator's policies say of DNS over HTTPS.
///
/// Sources: Chromium's policies `DnsOverHttpsMode` and `DnsOverHttpsTemplates` (chromeenterprise.google/policies), Mozilla's `DNSOverHTTPS`
/// (mozilla.github.io/policy-templates), and Mozilla's canary domain (support.mozilla.org, "Configure networks to disable DNS over HTTPS").
/// Settings of a person, in a profile, are not read.
package struct BrowserCondition: Equatable, Sendable {
  package enum Program: String, Equatable, Sendable, CaseIterable {
    /// Debian's Chromium.
    case chromium = "Chromium"
    /// Google's Chrome.
    case chrome = "Google Chrome"
    /// Firefox, of Mozilla or of a distribution.
    case firefox = "Firefox"
  }

  /// Use of DNS over HTTPS.
  package enum Mode: Equatable, Sendable {
    /// All names go to the system's resolver.
    case off
    /// The browser decides, by its rules for hosts without such a policy.
    case automatic
    /// Names go to the browser's own server, except those in these domains.
    case on(except: [DomainName])
  }

  package var program: Program
  package var mode: Mode

  package init(program: Program, mode: Mode) {
    self.program = program
    self.mode = mode
  }

  /// The folder or file of its managed policies.
  package static func place(of program: Program) -> String {
    switch program {
    case .chromium: "/etc/chromium/policies/managed"
    case .chrome: "/etc/opt/chrome/policies/managed"
    case .firefox: "/etc/firefox/policies/policies.json"
    }
  }
}
