import NetworkTypes
package import RoamwardCore

/// Applies invented facts, each `KEY=VALUE`, to the primary link. The first setting of a list replaces the snapshot's value; further ones
/// of the same key add to it. Without a primary link, one with the name `link` is created.
///
/// The keys are those of a match, from `interface` to `power`, and `address`, which is the same as `subnet`. Lists are split at commas. An
/// empty value after the `=` is known to be absent; `KEY=unknown()` is unknown; `KEY=unavailable()` too, and no source can give it. An
/// SSID, an access point or a Wi-Fi security turns a link without a type into a Wi-Fi link, unless the interface is set.
package func applySettings(_ texts: [String], to snapshot: inout NetworkSnapshot) -> [Diagnostic] {
  var seen: Set<String> = []
  defer { if !seen.contains(FactKind.type.rawValue), !seen.isDisjoint(with: ofRadio) { snapshot.primaryBecomesWiFiIfRadioIsSaid() } }
  return texts.compactMap { text in
    guard let fact = fact(of: text) else { return applySetting(text, to: &snapshot) }
    let isFirst = seen.insert(fact.key).inserted
    return apply(text, to: &snapshot, replacing: isFirst)
  }
}

/// Applies one invented fact; a list key adds to the existing values. See `applySettings`.
package func applySetting(_ text: String, to snapshot: inout NetworkSnapshot) -> Diagnostic? {
  let problem = apply(text, to: &snapshot, replacing: false)
  if fact(of: text)?.isOfRadio ?? false { snapshot.primaryBecomesWiFiIfRadioIsSaid() }
  return problem
}

/// Applies the result of a probe, `URL=ok`, `URL=fail` or `URL=unknown`.
package func applyProbeAssumption(_ text: String, to snapshot: inout NetworkSnapshot) -> Diagnostic? {
  func refusal(_ message: String, _ help: String, offset: Int) -> Diagnostic { invented(text, "--assume-probe", message, help, offset) }
  guard let equals = text.lastIndex(of: "=") else {
    return refusal("expected URL=ok, URL=fail or URL=unknown", "for example: --assume-probe https://beacon.corp.example/=ok", offset: 0)
  }
  let answer = String(text[text.index(after: equals)...])
  guard let fact = parseAnswer(answer, "--assume-probe says so") else {
    let offset = text[...equals].unicodeScalars.count
    return refusal(
      "expected ok, fail or unknown, found \(quoted(answer))", "for example: --assume-probe https://beacon.corp.example/=ok", offset: offset
    )
  }
  guard let url = webAddress(String(text[..<equals])) else {
    return refusal("expected an http:// or https:// URL with a host", "write it as the policy does", offset: 0)
  }
  // The result for a URL applies to every probe of it.
  for name in snapshot.probes.keys where name.hasPrefix(url + " ") { snapshot.probes[name] = nil }
  snapshot.probes[url] = fact
  return nil
}

/// The facts by their names for `--set`, in order: the name of the first key of a match that compares a fact, and its aliases.
private let settings: [(name: String, fact: FactDeclaration)] = {
  var told: Set<String> = []
  return FactTable.keys.flatMap { key -> [(name: String, fact: FactDeclaration)] in
    guard let fact = key.fact.flatMap(FactTable.fact), told.insert(fact.key).inserted else { return [] }
    return ([key.name] + key.aliases).map { ($0, fact) }
  }
}()

/// The names that `--set` takes, in the order of the tables of facts.
package var settingNames: [String] { settings.map(\.name) }

private let ofRadio = Set(FactTable.ofLinks.filter(\.isOfRadio).map(\.key))

private func fact(of text: String) -> FactDeclaration? {
  text.firstIndex(of: "=").flatMap { equals in settings.first { $0.name == text[..<equals] }?.fact }
}

private func apply(_ text: String, to snapshot: inout NetworkSnapshot, replacing: Bool) -> Diagnostic? {
  var setting = Setting(text: text, replacing: replacing)
  guard let equals = text.firstIndex(of: "=") else {
    return setting.refusal("expected KEY=VALUE", help: "for example: --set interface=wifi", offset: 0)
  }
  let word = String(text[..<equals])
  guard let fact = settings.first(where: { $0.name == word })?.fact else {
    let known = settings.map(\.name)
    return setting.refusal(
      "unknown key \(quoted(word))",
      help: nearest(to: word, among: known).map { "did you mean `\($0)`?" } ?? "known keys: \(known.joined(separator: ", "))",
      offset: 0)
  }
  setting.valueOffset = word.unicodeScalars.count + 1
  let value = String(text[text.index(after: equals)...])
  var changed = snapshot
  setting.apply(fact, called: word, value, to: &changed)
  if setting.problem == nil { snapshot = changed }
  if value == "unknown" { setting.problem?.help = "a fact that is not known is written `\(word)=unknown()`" }
  return setting.problem
}

private func invented(_ text: String, _ option: String, _ message: String, _ help: String?, _ offset: Int) -> Diagnostic {
  let source = SourceText(file: option, bytes: Array(text.utf8))
  return source.diagnostic(.error, message, help: help, at: SourceLocation(file: option, line: 1, column: offset + 1))
}

/// The state of applying one `KEY=VALUE`.
private struct Setting {
  let text: String
  let replacing: Bool
  var valueOffset = 0
  var problem: Diagnostic?

  init(text: String, replacing: Bool) {
    self.text = text
    self.replacing = replacing
  }

  func refusal(_ message: String, help: String? = nil, offset: Int) -> Diagnostic {
    invented(text, "--set", message, help, offset)
  }

  mutating func apply(_ fact: FactDeclaration, called name: String, _ value: String, to snapshot: inout NetworkSnapshot) {
    // The name identifies the link.
    if fact.key == "name" {
      choose(value, in: &snapshot)
      return
    }
    if snapshot.primaryLink == nil { snapshot.adopt(LinkFacts(name: "link")) }
    guard let i = snapshot.links.firstIndex(where: { $0.name == snapshot.primary }) else { return }
    switch value {
    case "unknown()", "unavailable()":
      guard fact.kind != nil else { return problem = refusal("`\(name)` is never unknown", offset: valueOffset) }
      if value == "unknown()" {
        snapshot.makeUnknown(fact, reason: "--set says so", link: i)
      } else {
        snapshot.makeUnavailable(fact, reason: "no source can give it, --set says", link: i)
      }
    default: assign(fact, value, in: &snapshot, link: i)
    }
  }

  /// Selects another link of the snapshot as the primary one; a new name renames it.
  private mutating func choose(_ name: String, in snapshot: inout NetworkSnapshot) {
    guard InterfaceName(name) != nil, name != "unknown()" else {
      problem = refusal("expected a link name of 1 to 15 characters, found \(quoted(name))", offset: valueOffset)
      return
    }
    if snapshot.links.contains(where: { $0.name == name }) {
      snapshot.primary = name
    } else if var link = snapshot.primaryLink {
      snapshot.links.removeAll { $0.name == link.name }
      link.name = name
      snapshot.adopt(link)
    } else {
      snapshot.adopt(LinkFacts(name: name))
    }
  }

  private mutating func assign(_ fact: FactDeclaration, _ value: String, in snapshot: inout NetworkSnapshot, link: Int) {
    if fact.isList { return assign(list: fact, value, in: &snapshot, link: link) }
    let isSet =
      if value.isEmpty, fact.silence == .means(.absent) {
        // An empty value is known to be absent.
        snapshot.set(fact, to: .absent, link: link)
      } else if case .flag = fact.form {
        parseBoolean(value).map { snapshot.set(fact, to: .flag($0), link: link) } ?? false
      } else {
        snapshot.set(fact, to: .text(value), link: link)
      }
    guard !isSet else { return }
    var help: String?
    if case .word(let words) = fact.form { help = nearest(to: value, among: words).map { "did you mean `\($0)`?" } }
    problem = refusal("expected \(fact.form.expectedSetting), found \(quoted(value))", help: help, offset: valueOffset)
  }

  private mutating func assign(list fact: FactDeclaration, _ value: String, in snapshot: inout NetworkSnapshot, link: Int) {
    var items: [String] = []
    if !replacing, case .known(.list(let earlier)) = snapshot.value(of: fact, link: link) { items = earlier }
    if value.isEmpty { items = [] }
    var offset = valueOffset
    for part in value.split(separator: ",", omittingEmptySubsequences: false) where !value.isEmpty {
      let item = trimmed(part)
      if snapshot.set(fact, to: .list([item]), link: link) {
        items.append(item)
      } else {
        problem =
          problem ?? refusal("expected \(fact.form.expectedSetting), found \(quoted(String(part)))", offset: offset)
      }
      offset += part.unicodeScalars.count + 1
    }
    _ = snapshot.set(fact, to: .list(items), link: link)
  }
}

extension NetworkSnapshot {
  fileprivate mutating func primaryBecomesWiFiIfRadioIsSaid() {
    for i in links.indices where links[i].name == primary { links[i].becomeWiFiIfRadioIsSaid() }
  }

  fileprivate mutating func adopt(_ link: LinkFacts) {
    primary = link.name
    links = (links.filter { $0.name != link.name } + [link]).sorted { $0.name < $1.name }
  }
}
