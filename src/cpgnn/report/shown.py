"""A classifier as notebooks and scikit-learn see it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier


class ShownInNotebooks:
    """Fitted, what was learned; else what scikit-learn shows."""

    def _repr_html_inner(self) -> str:
        if not hasattr(self, "model_"):
            return str(super()._repr_html_inner())  # type: ignore[misc]
        from cpgnn.report.grids import first_classes
        from cpgnn.report.notebook import MOST_CLASSES, classifier_html

        fitted = cast("CPGNNClassifier", self)
        weighted = hasattr(fitted, "graph_") and fitted.graph_.is_weighted
        names, made = tuple(map(str, fitted.classes_)), fitted.edge_frequency_interval_
        return classifier_html(fitted, first_classes(made, names, MOST_CLASSES, weighted=weighted))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What notebooks ask for first; HTML where the display of scikit-learn says so."""
        shown = {"text/plain": repr(self)}
        if hasattr(self, "_repr_html_"):
            shown["text/html"] = self._repr_html_()
        return shown

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags
