package import Doctor
internal import JSON
internal import NetworkTypes

extension BrowserCondition.Mode {
  /// By the files of Chromium's folder of managed policies, in the order of their names: the last one that names the policy counts. Files
  /// that are no JSON are left out, as the browser does. With managed policies, and none for this, a browser leaves DNS over HTTPS off.
  package init(chromium files: [String]) {
    self = .automatic
    let policies = files.compactMap { try? JSON(parsing: Array($0.utf8)) }.filter { $0.members != nil }
    if policies.contains(where: { $0.members?.isEmpty == false }) { self = .off }
    for policy in policies {
      guard case .string(let word)? = policy["DnsOverHttpsMode"] else { continue }
      switch word {
      case "off": self = .off
      case "secure": self = .on(except: [])
      default: self = .automatic
      }
    }
  }

  /// By Firefox's policies.json; empty if there is none.
  package init(firefox file: String) {
    self = .automatic
    guard let policy = (try? JSON(parsing: Array(file.utf8)))?["policies"]?["DNSOverHTTPS"] else { return }
    let excluded = (policy["ExcludedDomains"]?.array ?? []).compactMap { item -> DomainName? in
      if case .string(let text) = item { DomainName(text) } else { nil }
    }
    switch policy["Enabled"] {
    case .bool(true)?: self = .on(except: excluded)
    case .bool(false)?: self = .off
    default: if policy["ProviderURL"] != nil { self = .on(except: excluded) }
    }
  }
}
