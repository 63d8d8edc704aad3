package import NetworkTypes

// The people at this machine.

private let users = FactDeclaration(
  .users, ofMachine: \.users, .list(.userName), silence: .isUnknown,
  space: .names(NameSpace(lengths: 1...256, text: { String(validating: $0, as: UTF8.self).flatMap { UserName($0)?.text } })),
  "The users who are logged in; absent: unknown.", example: "[alice]"
) { facts, _ in
  var traced = facts.direct("systemd-logind", facts.sources.direct.users) { $0.isEmpty ? "none" : list($0) }
  // It is read at once: what the answer does not say, nothing else will.
  traced.isUnavailable = traced.fact.value == nil && traced.fact != .notNeeded
  return traced
}

let userFacts = [users]

// MARK: Keys of a match

extension FactTable {
  package static let loggedIn = CriterionKey<[UserName]>(
    "logged-in", kind: .users, fact: users.key, "One of these users is logged in.", example: "alice",
    reading: .list(.userName) { $0.compactMap { UserName($0) } }, write: { .list($0.map(\.text)) },
    constants: { $0.map { .name(Array($0.text.utf8)) } },
    marks: Marking(wanted: { $0.marks { Marks($0.text) } }, found: { $0.snapshot.users.marks { $0.marks { Marks($0.text) } } }),
    holds: { wanted in { context in context.snapshot.users.truth { $0.contains(where: wanted.contains) } } },
    found: { context, wanted, holds in
      describe(context.snapshot.users, as: "logged-in") { found in
        guard !found.isEmpty else { return "no user is logged in" }
        return "user \(list(found)) \(found.count == 1 ? "is" : "are") logged in, \(holds == .yes ? "one of" : "none of") \(list(wanted))"
      }
    })
}

let userKeys: [any AnyCriterionKey] = [FactTable.loggedIn]

extension Condition {
  /// One of these users is logged in.
  package static func loggedIn(_ names: [UserName]) -> Condition { FactTable.loggedIn(names) }
}
