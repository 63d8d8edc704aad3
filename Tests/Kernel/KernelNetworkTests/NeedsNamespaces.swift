import TestSupport
import Testing

extension Trait where Self == ConditionTrait {
  /// Skips where this process may not make network namespaces: that takes root, for a process with threads
  /// has no user namespace of its own.
  static var needsNamespaces: Self { .enabled(if: canMakeNamespaces, "making network namespaces needs root") }
}
