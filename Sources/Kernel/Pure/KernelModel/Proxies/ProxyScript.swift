package import NetworkTypes

/// The script at the address of proxies (proxy auto-configuration), by what it is made of.
package enum ProxyScript: Hashable, Sendable {
  /// Every program connects directly: no tunnel with a proxy is connected.
  case direct
  /// Made of a policy's proxies.
  case rules(ProxyRules, tunnel: String)
  /// A policy's own script, byte for byte.
  case own([UInt8], tunnel: String)
  /// The same, fetched through the tunnel; no proxy until it has come.
  case fetched(ScriptSource, tunnel: String)

  /// The longest script that a policy may bring, in bytes: 1 MiB, as browsers take it.
  package static let longest = 1 << 20

  /// The tunnel whose proxies they are.
  package var tunnel: String? {
    switch self {
    case .direct: nil
    case .rules(_, let tunnel), .own(_, let tunnel), .fetched(_, let tunnel): tunnel
    }
  }

  /// Its text, as far as it is known here.
  package var bytes: [UInt8] {
    switch self {
    case .direct, .fetched: Array("function FindProxyForURL(url, host) { return \"DIRECT\"; }\n".utf8)
    case .rules(let rules, _): Array(rules.script.utf8)
    case .own(let bytes, _): bytes
    }
  }
}

/// The place of a policy's script, and the way to it.
package struct ScriptSource: Hashable, Sendable {
  /// `http` or `https`.
  package var url: String
  /// The tunnel's link, by which alone it is asked for.
  package var link: String
  /// The tunnel's name servers, which look up the name in the URL.
  package var servers: [IPAddress]

  package init(url: String, link: String, servers: [IPAddress]) {
    self.url = url
    self.link = link
    self.servers = servers
  }

  /// The reason why the URL's host cannot be looked up inside the tunnel; `nil`: it can, or it is an address.
  package var obstacle: String? {
    guard servers.isEmpty, let target = ProxyTarget(url), IPAddress(target.host) == nil else { return nil }
    return "the tunnel has no name servers to look up the host; cure: add `dns: servers`, or use an address"
  }
}

extension ProxyScript: CustomStringConvertible {
  package var description: String {
    switch self {
    case .direct: "no proxy"
    case .rules(let rules, let tunnel): "\(tunnel): \(rules)"
    case .own(let bytes, let tunnel): "\(tunnel): its own script, \(bytes.count) bytes"
    case .fetched(let source, let tunnel): "\(tunnel): the script of \(source.url)"
    }
  }
}

extension ProxyRules {
  /// The rules as a script, in the language of 1999, which every reader of such scripts knows. It looks no name up. Every value in it was
  /// parsed: it has letters, digits, dots, colons, hyphens and underscores.
  var script: String {
    var lines = [
      "function FindProxyForURL(url, host) {", "  var name = host.toLowerCase().replace(/^\\[|\\]$/g, \"\").replace(/\\.$/, \"\");",
      "  var scheme = url.substring(0, url.indexOf(\":\")).toLowerCase();", "  var address = roamwardAddress(name);",
    ]
    for exception in Self.ownHosts + exclude {
      switch exception {
      case .everything: lines.append("  return \"DIRECT\";")
      case .domain(let domain, let isBelow):
        let below = "name.substring(name.length - \(domain.text.utf8.count + 1)) == \".\(domain)\""
        lines.append("  if (!address && (\(isBelow ? "" : "name == \"\(domain)\" || ")\(below))) return \"DIRECT\";")
      case .prefix(let prefix):
        let bytes = prefix.address.bytes.map { "\($0)" }.joined(separator: ", ")
        lines.append("  if (roamwardWithin(address, [\(bytes)], \(prefix.length))) return \"DIRECT\";")
      }
    }
    if excludesSimpleNames { lines.append("  if (!address && name.indexOf(\".\") < 0) return \"DIRECT\";") }
    if let http { lines.append("  if (scheme == \"http\" || scheme == \"ws\") return \"\(http.directive)\";") }
    if let https { lines.append("  if (scheme == \"https\" || scheme == \"wss\") return \"\(https.directive)\";") }
    return (lines + ["  return \"DIRECT\";", "}", ""]).joined(separator: "\n") + Self.functions
  }

  /// The bytes of an address, `null` for a name; and whether an address has a prefix.
  private static let functions = """

    function roamwardAddress(text) {
      var i, part, parts, bytes = [], tail = [];
      if (/^[0-9]+(\\.[0-9]+){3}$/.test(text)) {
        parts = text.split(".");
        for (i = 0; i < 4; i++) { if (parts[i] > 255) return null; bytes.push(parts[i] * 1); }
        return bytes;
      }
      if (text.indexOf(":") < 0) return null;
      parts = text.split("::");
      if (parts.length > 2) return null;
      bytes = roamwardGroups(parts[0]);
      tail = parts.length > 1 ? roamwardGroups(parts[1]) : [];
      if (!bytes || !tail) return null;
      if (parts.length > 1) while (bytes.length + tail.length < 16) bytes.push(0);
      bytes = bytes.concat(tail);
      return bytes.length == 16 ? bytes : null;
    }

    function roamwardGroups(text) {
      var i, four, bytes = [], groups = text == "" ? [] : text.split(":");
      for (i = 0; i < groups.length; i++) {
        if (groups[i].indexOf(".") >= 0) {
          four = roamwardAddress(groups[i]);
          if (!four || i + 1 < groups.length) return null;
          bytes = bytes.concat(four);
        } else {
          if (!/^[0-9a-f]{1,4}$/.test(groups[i])) return null;
          bytes.push(parseInt(groups[i], 16) >> 8, parseInt(groups[i], 16) & 255);
        }
      }
      return bytes;
    }

    function roamwardWithin(address, prefix, length) {
      var i, bits;
      if (!address || address.length != prefix.length) return false;
      for (i = 0; i * 8 < length; i++) {
        bits = length - i * 8 >= 8 ? 255 : 255 << (8 - (length - i * 8)) & 255;
        if ((address[i] & bits) != (prefix[i] & bits)) return false;
      }
      return true;
    }

    """
}
