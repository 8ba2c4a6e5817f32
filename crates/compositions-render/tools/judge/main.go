// Judge answers questions about patch-and-transform with Crossplane's own code.
//
// It reads one JSON question per line and writes the question back with its answer. It only builds inside a copy of
// Crossplane's module, because it imports internal packages; ../../tests/recorded/README.md says how.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sort"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "k8s.io/apimachinery/pkg/util/json"

	xpv1 "github.com/crossplane/crossplane-runtime/apis/common/v1"
	"github.com/crossplane/crossplane-runtime/pkg/fieldpath"
	"github.com/crossplane/crossplane-runtime/pkg/reconciler/managed"
	"github.com/crossplane/crossplane-runtime/pkg/resource/unstructured/composed"
	ucomposite "github.com/crossplane/crossplane-runtime/pkg/resource/unstructured/composite"

	v1 "github.com/crossplane/crossplane/apis/apiextensions/v1"
	"github.com/crossplane/crossplane/internal/controller/apiextensions/composite"
)

type question struct {
	Op        string               `json:"op"`
	Path      string               `json:"path"`
	Format    string               `json:"format"`
	Args      json.RawMessage      `json:"args"`
	Object    json.RawMessage      `json:"object"`
	Value     json.RawMessage      `json:"value"`
	Options   *xpv1.MergeOptions   `json:"options"`
	Transform *v1.Transform        `json:"transform"`
	Input     json.RawMessage      `json:"input"`
	Spec      json.RawMessage      `json:"spec"`
	Template  *v1.ComposedTemplate `json:"template"`
	Observed  json.RawMessage      `json:"observed"`
	Secret    map[string]string    `json:"secret"`
	XR        json.RawMessage      `json:"xr"`
}

// decode reads JSON as the API server's clients do: integers stay integers.
func decode(raw json.RawMessage) any {
	var value any
	if len(raw) == 0 {
		return nil
	}
	if err := kjson.Unmarshal(raw, &value); err != nil {
		panic(err)
	}
	return value
}

func object(raw json.RawMessage) map[string]any {
	m, _ := decode(raw).(map[string]any)
	return m
}

func failure(err error) map[string]any {
	return map[string]any{"error": err.Error(), "notFound": fieldpath.IsNotFound(err)}
}

// defaults are those of Composition's CRD, which the API server sets before Crossplane sees a Composition.
func defaults(patches []v1.Patch) {
	for i := range patches {
		if patches[i].Type == "" {
			patches[i].Type = v1.PatchTypeFromCompositeFieldPath
		}
		for j := range patches[i].Transforms {
			transformDefaults(&patches[i].Transforms[j])
		}
	}
}

func transformDefaults(t *v1.Transform) {
	if t.Math != nil && t.Math.Type == "" {
		t.Math.Type = v1.MathTransformTypeMultiply
	}
	if t.String != nil && t.String.Type == "" {
		t.String.Type = v1.StringTransformTypeFormat
	}
	if t.Match != nil {
		if t.Match.FallbackTo == "" {
			t.Match.FallbackTo = v1.MatchFallbackToTypeValue
		}
		for i := range t.Match.Patterns {
			if t.Match.Patterns[i].Type == "" {
				t.Match.Patterns[i].Type = v1.MatchTransformPatternTypeLiteral
			}
		}
	}
}

func templateDefaults(t *v1.ComposedTemplate) {
	defaults(t.Patches)
	for i := range t.ReadinessChecks {
		if m := t.ReadinessChecks[i].MatchCondition; m != nil {
			if m.Type == "" {
				m.Type = "Ready"
			}
			if m.Status == "" {
				m.Status = "True"
			}
		}
	}
}

func answer(q question) (result map[string]any) {
	defer func() {
		if r := recover(); r != nil {
			result = map[string]any{"panic": fmt.Sprint(r)}
		}
	}()
	paved := fieldpath.Pave(object(q.Object))
	switch q.Op {
	case "parse":
		segments, err := fieldpath.Parse(q.Path)
		if err != nil {
			return failure(err)
		}
		out := []any{}
		for _, s := range segments {
			if s.Type == fieldpath.SegmentIndex {
				out = append(out, s.Index)
			} else {
				out = append(out, s.Field)
			}
		}
		return map[string]any{"segments": out}
	case "get":
		value, err := paved.GetValue(q.Path)
		if err != nil {
			return failure(err)
		}
		return map[string]any{"value": value}
	case "set":
		if err := paved.SetValue(q.Path, decode(q.Value)); err != nil {
			return failure(err)
		}
		return map[string]any{"object": paved.UnstructuredContent()}
	case "delete":
		if err := paved.DeleteField(q.Path); err != nil {
			return failure(err)
		}
		return map[string]any{"object": paved.UnstructuredContent()}
	case "expand":
		paths, err := paved.ExpandWildcards(q.Path)
		if err != nil {
			return failure(err)
		}
		sort.Strings(paths)
		return map[string]any{"paths": paths}
	case "merge":
		if err := paved.MergeValue(q.Path, decode(q.Value), q.Options); err != nil {
			return failure(err)
		}
		return map[string]any{"object": paved.UnstructuredContent()}
	case "sprintf":
		args, _ := decode(q.Args).([]any)
		return map[string]any{"text": fmt.Sprintf(q.Format, args...)}
	case "transform":
		transformDefaults(q.Transform)
		out, err := composite.Resolve(*q.Transform, decode(q.Input))
		if err != nil {
			return failure(err)
		}
		return map[string]any{"type": fmt.Sprintf("%T", out), "value": out}
	case "validate":
		c := &v1.Composition{}
		if err := json.Unmarshal(q.Spec, &c.Spec); err != nil {
			return map[string]any{"error": err.Error()}
		}
		for i := range c.Spec.Resources {
			templateDefaults(&c.Spec.Resources[i])
		}
		for i := range c.Spec.PatchSets {
			defaults(c.Spec.PatchSets[i].Patches)
		}
		_, errs := c.Validate()
		out := []any{}
		for _, e := range errs {
			out = append(out, map[string]any{"field": e.Field, "type": string(e.Type), "text": e.Error()})
		}
		return map[string]any{"errors": out}
	case "from", "to":
		return template(q)
	case "observe":
		return observe(q)
	}
	return map[string]any{"error": "unknown op " + q.Op}
}

func template(q question) map[string]any {
	templateDefaults(q.Template)
	xr := ucomposite.New()
	xr.Object = object(q.XR)
	cd := composed.New()
	if observed := object(q.Observed); observed != nil {
		o := unstructured.Unstructured{Object: observed}
		cd.SetGroupVersionKind(o.GroupVersionKind())
		cd.SetName(o.GetName())
		cd.SetNamespace(o.GetNamespace())
	}
	if q.Op == "to" {
		cd.Object = object(q.Observed)
		if err := composite.RenderToCompositePatches(xr, cd, q.Template.Patches); err != nil {
			return failure(err)
		}
		return map[string]any{"object": xr.Object}
	}
	if err := composite.RenderFromJSON(cd, q.Template.Base.Raw); err != nil {
		return failure(err)
	}
	if err := composite.RenderFromCompositePatches(cd, xr, q.Template.Patches); err != nil {
		return failure(err)
	}
	name := ""
	if q.Template.Name != nil {
		name = *q.Template.Name
	}
	if err := composite.RenderComposedResourceMetadata(cd, xr, composite.ResourceName(name)); err != nil {
		return failure(err)
	}
	return map[string]any{"object": cd.Object}
}

func observe(q question) map[string]any {
	templateDefaults(q.Template)
	cd := composed.New()
	cd.Object = object(q.Observed)
	out := map[string]any{}
	ready, err := composite.IsReady(context.Background(), cd, composite.ReadinessChecksFromComposedTemplate(q.Template)...)
	if err != nil {
		out["readyError"] = err.Error()
	} else {
		out["ready"] = ready
	}
	data := managed.ConnectionDetails{}
	for k, v := range q.Secret {
		data[k] = []byte(v)
	}
	details, err := composite.ExtractConnectionDetails(cd, data, composite.ExtractConfigsFromComposedTemplate(q.Template)...)
	if err != nil {
		out["detailsError"] = err.Error()
	} else {
		text := map[string]string{}
		for k, v := range details {
			text[k] = string(v)
		}
		out["details"] = text
	}
	return out
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 0, 1<<20), 1<<26)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		var q question
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
			fmt.Fprintln(os.Stderr, err, in.Text())
			os.Exit(1)
		}
		a, err := json.Marshal(answer(q))
		if err != nil {
			a, _ = json.Marshal(map[string]any{"unspeakable": err.Error()})
		}
		fmt.Fprintf(out, "{\"question\":%s,\"answer\":%s}\n", in.Text(), a)
	}
}
